"""Incremental reader of one call that is written as its name, then its arguments as an object."""

import re
from dataclasses import dataclass
from typing import Protocol

from models.chat.json_scanner import JsonScanner
from models.chat.tool_calls import AnswerEvent, ArgumentsPiece, CallEnd, CallStart

_LONGEST_HEAD = 512
"""Maximum number of characters before the arguments."""


@dataclass(frozen=True, slots=True)
class CallHeader:
    """Text before the arguments of a call.

    whole: matches the text before the opening bracket, which it may look ahead to. The first group is the name.
    begun: matches every beginning of such a text. Other text after the mark of a call is no call.
    """

    whole: re.Pattern[str]
    begun: re.Pattern[str]


def literal(text: str) -> list[str]:
    """Return the patterns of the characters of `text`, for `beginnings`."""
    return [re.escape(character) for character in text]


def beginnings(*parts: str) -> str:
    """Return a pattern that matches every beginning of a sequence. parts: patterns that match their own beginnings."""
    pattern = ""
    for part in reversed(parts):
        pattern = f"(?:{part}{pattern})?"
    return pattern


class Scanner(Protocol):
    """Scanner of one value, which becomes JSON. The properties are those of `JsonScanner`."""

    @property
    def is_done(self) -> bool:
        """Whether the value is complete."""

    @property
    def is_broken(self) -> bool:
        """Whether the text cannot be continued to a value."""

    @property
    def unread(self) -> str:
        """Text that is not part of the value."""

    def push(self, text: str) -> str:
        """Add text and return the JSON that it adds."""


class HeadedReader:
    """A `CallReader`. The call begins with the bracket that opens its arguments."""

    def __init__(self, head: CallHeader, arguments: Scanner | None = None) -> None:
        """Create the reader.

        arguments: scanner of the arguments; None for JSON.
        """
        self.has_called = False
        self.is_broken = False
        self.unread = ""
        self.not_called = ""
        self._head = head
        self._held = ""
        self._json = JsonScanner() if arguments is None else arguments

    @property
    def is_over(self) -> bool:
        """See `CallReader`."""
        return self.is_broken or self._json.is_done

    def push(self, text: str) -> list[AnswerEvent]:
        """See `CallReader`."""
        if self.has_called:
            return self._arguments(text)
        self._held += text
        head, bracket, _ = self._held.partition("{")
        if not bracket:
            if len(head) > _LONGEST_HEAD or self._head.begun.fullmatch(head) is None:
                self._break_off(head)
            return []
        found = self._head.whole.match(self._held)
        if found is None or found.end() != len(head) or len(head) > _LONGEST_HEAD:
            self._break_off(self._held)
            return []
        self.has_called = True
        return [CallStart(found[1]), *self._arguments(self._held[len(head) :])]

    def finish(self) -> list[AnswerEvent]:
        """See `CallReader`."""
        if self.has_called:
            return [CallEnd(is_complete=False)]
        found = self._head.whole.fullmatch(self._held)
        return [CallStart(found[1]), CallEnd(is_complete=False)] if found is not None else []

    def _arguments(self, text: str) -> list[AnswerEvent]:
        written = self._json.push(text)
        events: list[AnswerEvent] = [ArgumentsPiece(written)] if written else []
        if self._json.is_done:
            events.append(CallEnd(is_complete=True))
            self.unread = self._json.unread
        elif self._json.is_broken:
            events.append(CallEnd(is_complete=False))
            self._break_off(self._json.unread)
        return events

    def _break_off(self, unread: str) -> None:
        self.is_broken, self.unread = True, unread
