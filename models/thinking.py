"""Thinking models: how a request selects the thinking mode, and which tokens of an answer are reasoning."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

ThinkingMode = Literal["slow", "auto", "off"]
"""slow: always think. auto: the model decides. off: answer without thinking."""

MARKERS = (("[unused16]", "[unused17]"), ("<think>", "</think>"), ("[THINK]", "[/THINK]"))
"""Markers of the start and end of reasoning: those of openPangu, of Qwen, DeepSeek and others, and of Mistral."""

_SWITCH = re.compile(r"""\benable_thinking\b|\{%-?\s*(?:el)?if\b[^%]*(?<![.\w'"])thinking\b(?!['"])""")
"""The variable that turns reasoning on or off: `enable_thinking`, or DeepSeek's and Granite's `thinking`."""

PANGU_SUFFIXES: Mapping[ThinkingMode, str] = {"slow": "", "auto": " /auto_think", "off": " /no_think"}


def switches(mode: ThinkingMode) -> dict[str, bool]:
    """Return the variables of chat templates that select a mode."""
    return {"enable_thinking": mode != "off", "thinking": mode != "off"}


@dataclass(frozen=True, slots=True)
class Thinking:
    """Reasoning format of one model.

    start_id, end_id: control tokens around reasoning.
    suffixes: text to append to the question, for each mode that the model supports. Empty where a template variable
        sets the mode.
    """

    start_id: int
    end_id: int
    suffixes: Mapping[ThinkingMode, str]

    @property
    def modes(self) -> tuple[ThinkingMode, ...]:
        """Modes that a request may choose."""
        return tuple(self.suffixes)

    def is_in(self, token_ids: Sequence[int]) -> bool:
        """Return whether an answer contains a reasoning marker."""
        return self.start_id in token_ids or self.end_id in token_ids


def find_thinking(control_tokens: Mapping[str, int], template: str) -> Thinking | None:
    """Find the reasoning format of a model by its control tokens and chat template.

    Return None if the model has no reasoning markers.
    """
    for start, end in MARKERS:
        if start in control_tokens and end in control_tokens:
            if start == MARKERS[0][0]:
                suffixes = PANGU_SUFFIXES
            else:
                suffixes = {"slow": "", "off": ""} if _SWITCH.search(template) else {"slow": ""}
            return Thinking(control_tokens[start], control_tokens[end], suffixes)
    return None


class Thoughts:
    """Tracker of reasoning in one answer, token by token.

    inside: True while the answer is inside reasoning.
    """

    def __init__(self, thinking: Thinking, prompt_ids: Sequence[int]) -> None:
        """Start an answer after the prompt, which may already open the reasoning: some templates do so at its end."""
        self._thinking = thinking
        markers = (thinking.start_id, thinking.end_id)
        last = next((id_ for id_ in reversed(prompt_ids) if id_ in markers), thinking.end_id)
        self.inside = last == thinking.start_id

    def push(self, token_id: int) -> bool:
        """Update `inside` with the next token, and return whether the token is a reasoning marker."""
        if token_id not in (self._thinking.start_id, self._thinking.end_id):
            return False
        self.inside = token_id == self._thinking.start_id
        return True
