"""Thinking models: how a request selects the thinking mode, and which tokens of an answer are reasoning."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

ThinkingMode = Literal["slow", "auto", "off"]
"""slow: always think. auto: the model decides. off: answer without thinking."""

GEMMA_START, GEMMA_HEADER = "<|channel>", "thought\n"
MARKERS = (
    ("[unused16]", "[unused17]"),
    ("<think>", "</think>"),
    ("[THINK]", "[/THINK]"),
    (GEMMA_START, "<channel|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<think:opensource>", "</think:opensource>"),
    ("<|inner_prefix|>", "<|inner_suffix|>"),
    ("<seed:think>", "</seed:think>"),
    ("<mm:think>", "</mm:think>"),
)
"""Markers of the start and end of reasoning: of openPangu, of Qwen, DeepSeek and others, of Mistral, of Gemma 4, of
Cohere, of Hunyuan 3, of Apertus, of Seed-OSS, and of MiniMax M3."""

_SWITCH = re.compile(r"""\benable_thinking\b|\{%-?\s*(?:el)?if\b[^%]*(?<![.\w'"])thinking\b(?!['"])""")
"""The variable that turns reasoning on or off: `enable_thinking`, or DeepSeek's and Granite's `thinking`."""

THINKS_ALWAYS: Mapping[ThinkingMode, str] = {"slow": ""}
THINKS_OR_NOT: Mapping[ThinkingMode, str] = {"slow": "", "off": ""}
PANGU_SUFFIXES: Mapping[ThinkingMode, str] = {"slow": "", "auto": " /auto_think", "off": " /no_think"}


def switches(mode: ThinkingMode) -> dict[str, bool]:
    """Return the variables of chat templates that select a mode."""
    return {"enable_thinking": mode != "off", "thinking": mode != "off"}


class Thinking(Protocol):
    """Reasoning format of one model."""

    @property
    def suffixes(self) -> Mapping[ThinkingMode, str]:
        """Text to append to the question, for each supported mode. Empty where a template variable sets the mode."""

    @property
    def modes(self) -> tuple[ThinkingMode, ...]:
        """Modes that a request may choose."""

    @property
    def opening_ids(self) -> Sequence[int]:
        """Tokens that begin reasoning."""

    @property
    def closing_ids(self) -> Sequence[int]:
        """Tokens that end reasoning."""

    def cutting_ids(self, *, may_call: bool) -> Sequence[int]:
        """Return the tokens that end reasoning in the middle of it.

        may_call: a call may follow instead of text.
        """

    @property
    def has_headers(self) -> bool:
        """Whether answers have headers that their text lacks, so that text does not become the same ids again."""

    def is_in(self, token_ids: Sequence[int]) -> bool:
        """Return whether an answer contains a reasoning marker."""

    def begins(self, token_ids: Sequence[int]) -> bool:
        """Return whether an answer begins reasoning by itself."""

    def opens(self, prompt_ids: Sequence[int]) -> bool:
        """Return whether a prompt begins reasoning at its end, as some templates do."""


@dataclass(frozen=True, slots=True)
class MarkedThinking:
    """A `Thinking` between two control tokens.

    start_id, end_id: control tokens around reasoning.
    suffixes: as in `Thinking`.
    header: text after the first token that is not reasoning.
    """

    start_id: int
    end_id: int
    suffixes: Mapping[ThinkingMode, str]
    header: str = ""
    has_headers: bool = False

    @property
    def modes(self) -> tuple[ThinkingMode, ...]:
        """See `Thinking`."""
        return tuple(self.suffixes)

    @property
    def opening_ids(self) -> Sequence[int]:
        """See `Thinking`."""
        return [self.start_id]

    @property
    def closing_ids(self) -> Sequence[int]:
        """See `Thinking`."""
        return [self.end_id]

    def cutting_ids(self, *, may_call: bool) -> Sequence[int]:
        """See `Thinking`. Text and calls follow the same token."""
        del may_call
        return [self.end_id]

    def is_in(self, token_ids: Sequence[int]) -> bool:
        """See `Thinking`."""
        return self.start_id in token_ids or self.end_id in token_ids

    def begins(self, token_ids: Sequence[int]) -> bool:
        """See `Thinking`."""
        return self.start_id in token_ids

    def opens(self, prompt_ids: Sequence[int]) -> bool:
        """See `Thinking`."""
        markers = (self.start_id, self.end_id)
        return next((id_ for id_ in reversed(prompt_ids) if id_ in markers), self.end_id) == self.start_id


def has_switch(template: str) -> bool:
    """Return whether a variable of the template turns reasoning on and off."""
    return _SWITCH.search(template) is not None


def find_thinking(control_tokens: Mapping[str, int], template: str) -> MarkedThinking | None:
    """Find the reasoning format of a model by its control tokens and chat template.

    Return None if no control tokens are reasoning markers.
    """
    for start, end in MARKERS:
        if start in control_tokens and end in control_tokens:
            if start == MARKERS[0][0]:
                suffixes = PANGU_SUFFIXES
            else:
                suffixes = THINKS_OR_NOT if has_switch(template) else THINKS_ALWAYS
            header = GEMMA_HEADER if start == GEMMA_START else ""
            return MarkedThinking(control_tokens[start], control_tokens[end], suffixes, header)
    return None


class Thoughts:
    """Tracker of reasoning in one answer, token by token.

    inside: True while the answer is inside reasoning.
    """

    def __init__(self, thinking: MarkedThinking, prompt_ids: Sequence[int]) -> None:
        """Start an answer after the prompt, which may already open the reasoning."""
        self._thinking = thinking
        self.inside = thinking.opens(prompt_ids)

    def push(self, token_id: int) -> bool:
        """Update `inside` with the next token, and return whether the token is a reasoning marker."""
        if token_id not in (self._thinking.start_id, self._thinking.end_id):
            return False
        self.inside = token_id == self._thinking.start_id
        return True
