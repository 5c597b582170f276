"""Reasoning of gpt-oss: an answer is several messages, each with a header that names its channel and its recipient.

Source: https://github.com/openai/harmony. Headers that deviate from it are read as far as they can be.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from models.text_tokenizer import TextTokenizer
from models.thinking import ThinkingMode

START, CHANNEL, MESSAGE = "<|start|>", "<|channel|>", "<|message|>"
ENDS: Final = ("<|end|>", "<|return|>", "<|call|>")
CALL: Final = START + "assistant to=functions.{name}" + CHANNEL + "commentary json" + MESSAGE
"""Header of a call, in the one form that `models.call_syntax.harmony` reads."""

EFFORTS: Final[Mapping[ThinkingMode, str]] = {"slow": "high", "auto": "low"}
"""Values of the template's variable `reasoning_effort`. Its default is between them."""

_RECIPIENT = re.compile(r"\bto=(?:functions\.)?([^\s<]+)")
_CHANNEL = re.compile(re.escape(CHANNEL) + r"\s*([a-z]+)")


@dataclass(frozen=True, slots=True)
class HarmonyThinking:
    """A `Thinking` in the channel "analysis"."""

    tokenizer: TextTokenizer
    suffixes: Mapping[ThinkingMode, str]
    has_headers: bool = True

    @property
    def modes(self) -> tuple[ThinkingMode, ...]:
        """See `Thinking`."""
        return tuple(self.suffixes)

    @property
    def opening_ids(self) -> Sequence[int]:
        """See `Thinking`."""
        return self.tokenizer.encode(f"{CHANNEL}analysis{MESSAGE}", special=True)

    @property
    def closing_ids(self) -> Sequence[int]:
        """See `Thinking`. The header of the answer, where the prompt ends before a header."""
        return self.tokenizer.encode(f"{CHANNEL}final{MESSAGE}", special=True)

    def is_in(self, token_ids: Sequence[int]) -> bool:
        """See `Thinking`."""
        return self.id_of(CHANNEL) in token_ids

    def begins(self, token_ids: Sequence[int]) -> bool:
        """See `Thinking`. Every answer begins with a header."""
        return bool(token_ids)

    def opens(self, prompt_ids: Sequence[int]) -> bool:
        """See `Thinking`."""
        marks = {self.id_of(START), self.id_of(MESSAGE)}
        return next((id_ for id_ in reversed(prompt_ids) if id_ in marks), None) == self.id_of(START)

    def id_of(self, mark: str) -> int | None:
        """Return the id of a mark."""
        return self.tokenizer.control_tokens.get(mark)


def find_harmony_thinking(template: str, tokenizer: TextTokenizer) -> HarmonyThinking | None:
    """Find the format by the marks of headers, in the template and as control tokens."""
    is_used = CHANNEL in template and all(mark in tokenizer.control_tokens for mark in (START, CHANNEL, MESSAGE))
    return HarmonyThinking(tokenizer, dict.fromkeys(EFFORTS, "")) if is_used else None


class HarmonyReader:
    """Reader of one answer, token by token.

    inside: the answer is inside reasoning, a header or a call, and not inside text for the user.
    """

    def __init__(self, thinking: HarmonyThinking, prompt_ids: Sequence[int]) -> None:
        """Start an answer after the prompt, which usually ends within a header."""
        self._names = {thinking.id_of(mark): mark for mark in (START, CHANNEL, MESSAGE, *ENDS)}
        self._header: str | None = ""
        self._is_thought = False
        self._is_call = False
        self._is_over = False
        self._has_text = False
        if not thinking.opens(prompt_ids) and thinking.id_of(MESSAGE) in prompt_ids:
            self._header = None

    @property
    def inside(self) -> bool:
        """See the class."""
        return self._header is not None or self._is_thought or self._is_call or self._is_over

    @property
    def is_thinking(self) -> bool:
        """Whether the next token belongs to reasoning."""
        return self._is_thought and self._header is None

    def push(self, token_id: int, text: str) -> list[tuple[str, bool]]:
        """Add a token and the text that it completes. Return the shown pieces, each with whether it is reasoning."""
        mark = self._names.get(token_id)
        if mark is None:
            return self._content(text)
        if mark in ENDS:
            self._is_over, self._is_thought, self._is_call = True, False, False
        elif mark == MESSAGE:
            return self._begin_message(self._header or "")
        elif mark == START or self._header is None:
            self._header, self._is_over = "" if mark == START else mark, False
        else:
            self._header += mark
        return []

    def is_mark(self, token_id: int) -> bool:
        """Return whether a token is part of the frame around messages."""
        return token_id in self._names

    def _content(self, text: str) -> list[tuple[str, bool]]:
        if self._header is not None:
            self._header += text
            return []
        return [(text, self._is_thought)] if text and not self._is_over else []

    def _begin_message(self, header: str) -> list[tuple[str, bool]]:
        recipient, channel = _RECIPIENT.search(header), _CHANNEL.search(header)
        self._header, self._is_over = None, False
        self._is_call = recipient is not None and recipient[1] != "assistant"
        self._is_thought = not self._is_call and channel is not None and channel[1] == "analysis"
        if self._is_call and recipient is not None:
            return [(CALL.format(name=recipient[1]), False)]
        is_next = self._has_text and not self._is_thought
        self._has_text |= not self._is_thought
        return [("\n\n", False)] if is_next else []


class HarmonyThoughts:
    """Tracker of one answer, like `models.thinking.Thoughts`, for forms of the answer's text."""

    def __init__(self, thinking: HarmonyThinking, prompt_ids: Sequence[int]) -> None:
        """Start an answer after the prompt."""
        self._describe = thinking.tokenizer.describe
        self._reader = HarmonyReader(thinking, prompt_ids)

    @property
    def inside(self) -> bool:
        """Whether the answer is not inside text for the user."""
        return self._reader.inside

    def push(self, token_id: int) -> bool:
        """Update `inside` with the next token, and return whether the token is a mark."""
        is_mark = self._reader.is_mark(token_id)
        self._reader.push(token_id, "" if is_mark else self._describe([token_id]))
        return is_mark
