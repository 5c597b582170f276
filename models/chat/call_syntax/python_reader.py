"""Incremental reader of calls written as those of Python's functions: [f(a="x"), g(n=2)], or one on each line."""

import re
from typing import Final

from models.chat.call_syntax.element_reader import LONGEST_SPACE
from models.chat.call_syntax.literal_scanner import LiteralScanner
from models.chat.call_syntax.part_reader import PartReader
from models.chat.call_syntax.rules import json_text
from models.chat.tool_calls import AnswerEvent, ArgumentsPiece, CallEnd, CallStart

_LONGEST_NAME: Final = 256
_BETWEEN: Final = " \t\r\n,"
_NAME = re.compile(r"([^\W\d][\w.\-]*)\(")
_FIELD = re.compile(r"([^\W\d][\w\-]*)\s*=\s*(?=[^\s=])")
_BEGUN_NAME = re.compile(r"[^\W\d][\w.\-]*")
_BEGUN_FIELD = re.compile(r"[^\W\d][\w\-]*\s*(?:=\s*)?")


class PythonReader(PartReader):
    """A `CallReader`. A bracket around the calls is optional. All arguments are named.

    A call begins with its first argument, or with the bracket that closes it.
    """

    def __init__(self, method: str = "") -> None:
        """Create the reader. method: text between the name of a function and its arguments, ".call" for example."""
        super().__init__()
        self._method = method
        self._skipped = ""
        self._in_list = False
        self._name = ""
        self._is_open = False
        self._may_be_comma = False
        self._seen = set[str]()
        self._value: LiteralScanner | None = None

    def finish(self) -> list[AnswerEvent]:
        """See `CallReader`."""
        if not self._name:
            return []
        begun: list[AnswerEvent] = [] if self._is_open else [CallStart(self._name), ArgumentsPiece("{")]
        return [*begun, CallEnd(is_complete=False)]

    def _next(self) -> list[AnswerEvent] | None:
        """Read the next part. Return its events; None if the part is incomplete."""
        if self._value is not None:
            return self._next_of_value(self._value)
        rest = self._held.lstrip()
        if self.has_called:
            self._held = rest
        elif len(self._held) - len(rest) > LONGEST_SPACE:
            return self._end()
        if not rest:
            return None
        return self._field(rest) if self._name else self._between(rest)

    def _between(self, rest: str) -> list[AnswerEvent] | None:
        """Read the text before a call, or after the last one."""
        if rest[0] == "[" and not self._in_list and not self.has_called:
            self._in_list = True
            return self._skip(rest[1:])
        if self.has_called and rest[0] == "," and not self._skipped.strip():
            return self._skip(rest[1:])
        if self.has_called and self._in_list and rest[0] == "]":
            self.is_over, self._held = True, rest[1:]
            return []
        if (name := self._name_in(rest)) is not None:
            self._name = name[1].removesuffix(self._method)
            self._is_open = self._may_be_comma = False
            self._seen.clear()
            return self._skip(rest[name.end() :])
        if _BEGUN_NAME.fullmatch(rest) is not None and len(rest) <= _LONGEST_NAME:
            return None
        return self._end()

    def _name_in(self, rest: str) -> re.Match[str] | None:
        """Return the name and the bracket at the beginning of a text; None if it begins with no call."""
        found = _NAME.match(rest)
        is_call = found is not None and len(found[1]) <= _LONGEST_NAME and found[1].endswith(self._method)
        return found if is_call else None

    def _skip(self, rest: str) -> list[AnswerEvent]:
        """Continue with `rest`. The text before it is kept until it belongs to a call."""
        self._skipped += self._held[: len(self._held) - len(rest)]
        self._held = rest
        return []

    def _end(self) -> list[AnswerEvent]:
        """End before a text that begins no call. Calls on lines may be followed by any text."""
        self.is_over = True
        self.is_broken = not self.has_called or self._in_list
        self.not_called = self._left_over() if self.is_broken else ""
        return []

    def _field(self, rest: str) -> list[AnswerEvent] | None:
        """Read the name of an argument, or the end of the arguments."""
        if rest[0] == "," and self._may_be_comma:
            self._may_be_comma, self._held = False, rest[1:]
            return []
        if rest[0] == ")":
            events = [*self._begun(), ArgumentsPiece("}"), CallEnd(is_complete=True)]
            self._name, self._held = "", rest[1:]
            return events
        found = _FIELD.match(rest)
        if found is None and _BEGUN_FIELD.fullmatch(rest) is not None and len(rest) <= _LONGEST_NAME:
            return None
        if found is None or found[1] in self._seen or len(found[1]) > _LONGEST_NAME:
            return self._break_off()
        between = ", " if self._seen else ""
        self._seen.add(found[1])
        self._held, self._value = rest[found.end() :], LiteralScanner()
        return [*self._begun(), ArgumentsPiece(f"{between}{json_text(found[1])}: ")]

    def _begun(self) -> list[AnswerEvent]:
        """Return the events that begin the call, unless it has begun."""
        if self._is_open:
            return []
        self._is_open = self.has_called = True
        self._skipped = ""
        return [CallStart(self._name), ArgumentsPiece("{")]

    def _next_of_value(self, value: LiteralScanner) -> list[AnswerEvent] | None:
        held, self._held = self._held, ""
        written = value.push(held)
        events: list[AnswerEvent] = [ArgumentsPiece(written)] if written else []
        if value.is_broken:
            self._held = value.unread
            return [*events, *self._break_off()]
        if not value.is_done:
            return events or None
        self._held, self._value, self._may_be_comma = value.unread, None, True
        return events

    def _break_off(self) -> list[AnswerEvent]:
        """End at a text that cannot continue the call."""
        self.is_over = self.is_broken = True
        events: list[AnswerEvent] = [CallEnd(is_complete=False)] if self._is_open else []
        self.not_called = "" if self._is_open else self._left_over()
        return events

    def _left_over(self) -> str:
        """Return the text that was read since the last call, without the comma behind it."""
        return self._skipped.lstrip(_BETWEEN) if self.has_called else self._skipped
