"""Models that think aloud before they answer: how a request asks for it, and which tokens of an answer are thought."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

ThinkingMode = Literal["slow", "auto", "off"]
"""slow: always think. auto: the model decides. off: answer at once."""

MARKERS = (("[unused16]", "[unused17]"), ("<think>", "</think>"))
"""Begin and end of a thought, as openPangu and as Qwen and DeepSeek write them."""

PANGU_SUFFIXES: Mapping[ThinkingMode, str] = {"slow": "", "auto": " /auto_think", "off": " /no_think"}


@dataclass(frozen=True, slots=True)
class Thinking:
    """How one model thinks.

    start_id, end_id: the control tokens around a thought. suffixes: what the question ends with in each mode that the
    model knows; where the template itself is told, nothing.
    """

    start_id: int
    end_id: int
    suffixes: Mapping[ThinkingMode, str]

    @property
    def modes(self) -> tuple[ThinkingMode, ...]:
        """Those that a request may choose."""
        return tuple(self.suffixes)

    def is_in(self, token_ids: Sequence[int]) -> bool:
        """Whether there is a thought, or the end of one, in an answer."""
        return self.start_id in token_ids or self.end_id in token_ids


def find_thinking(control_tokens: Mapping[str, int], template: str) -> Thinking | None:
    """How a model with these control tokens and this chat template thinks; None if it does not, aloud."""
    for start, end in MARKERS:
        if start in control_tokens and end in control_tokens:
            if start == MARKERS[0][0]:
                suffixes = PANGU_SUFFIXES
            else:
                suffixes = {"slow": "", "off": ""} if "enable_thinking" in template else {"slow": ""}
            return Thinking(control_tokens[start], control_tokens[end], suffixes)
    return None


class Thoughts:
    """Follows one answer, token by token."""

    def __init__(self, thinking: Thinking, prompt_ids: Sequence[int]) -> None:
        """prompt_ids: templates may begin the thought themselves, at the end of the prompt."""
        self._thinking = thinking
        markers = (thinking.start_id, thinking.end_id)
        last = next((id_ for id_ in reversed(prompt_ids) if id_ in markers), thinking.end_id)
        self.inside = last == thinking.start_id

    def push(self, token_id: int) -> bool:
        """Whether this token begins or ends a thought; `inside` says where the answer is after it."""
        if token_id not in (self._thinking.start_id, self._thinking.end_id):
            return False
        self.inside = token_id == self._thinking.start_id
        return True
