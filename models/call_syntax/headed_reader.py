"""Incremental reader of one call that is written as its name, then its arguments as an object."""

import re
from typing import Protocol

from models.json_scanner import JsonScanner
from models.tool_calls import AnswerEvent, ArgumentsPiece, CallEnd, CallStart

_LONGEST_HEAD = 512
"""Maximum number of characters before the arguments."""


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

    def __init__(self, head: re.Pattern[str], arguments: Scanner | None = None) -> None:
        """Create the reader.

        head: matches the text before the opening bracket, which it may look ahead to. The first group is the name.
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
            self._check_length(head)
            return []
        found = self._head.match(self._held)
        if found is None or found.end() != len(head) or len(head) > _LONGEST_HEAD:
            self._break_off(self._held)
            return []
        self.has_called = True
        return [CallStart(found[1]), *self._arguments(self._held[len(head) :])]

    def finish(self) -> list[AnswerEvent]:
        """See `CallReader`."""
        if self.has_called:
            return [CallEnd(is_complete=False)]
        found = self._head.fullmatch(self._held)
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

    def _check_length(self, head: str) -> None:
        if len(head) > _LONGEST_HEAD:
            self._break_off(head)

    def _break_off(self, unread: str) -> None:
        self.is_broken, self.unread = True, unread
