"""Incremental reader of one call in Qwen3-Coder's syntax, with an element for each parameter.

The arguments become JSON. The value of a parameter that may be a text is one, and is emitted while it is written. Any
other value is JSON, and is emitted at its end.
"""

import json

from models.call_syntax.fields import field_name
from models.json_scanner import JsonScanner
from models.tool_calls import AnswerEvent, ArgumentsPiece, CallEnd, CallStart

FUNCTION, END_OF_FUNCTION = "<function=", "</function>"
PARAMETER, END_OF_PARAMETER = "<parameter=", "</parameter>"

_LONGEST_NAME = 256
_PYTHON = {"True": "true", "False": "false", "None": "null"}
"""Values that models write as Python does."""


class ElementReader:
    """A `CallReader`. The call begins with its name."""

    def __init__(self, json_fields: frozenset[str], mark: str = "") -> None:
        """Create the reader.

        json_fields: as in `CallSyntax.reader`.
        mark: part of the call that has been read as a mark.
        """
        self.has_called = False
        self.is_broken = False
        self.is_over = False
        self.unread = ""
        self.not_called = ""
        self._json_fields = json_fields
        self._mark = mark
        self._held = mark
        self._name = ""
        self._seen = set[str]()
        self._value: _Value | None = None

    def push(self, text: str) -> list[AnswerEvent]:
        """See `CallReader`."""
        self._held += text
        events = list[AnswerEvent]()
        while not self.is_over and (news := self._next()) is not None:
            events += news
        if self.is_over:
            self.unread, self._held = self._held, ""
        return events

    def finish(self) -> list[AnswerEvent]:
        """See `CallReader`. An incomplete value that is JSON is left out."""
        return [CallEnd(is_complete=False)] if self.has_called else []

    def _next(self) -> list[AnswerEvent] | None:
        """Read the next part. Return its events; None if the part is incomplete."""
        if self._value is not None:
            return self._next_of_value(self._value)
        rest = self._held.lstrip()
        if not self.has_called:
            return self._function(rest)
        if rest.startswith(END_OF_FUNCTION):
            self._held = rest.removeprefix(END_OF_FUNCTION)
            self.is_over = True
            return [ArgumentsPiece("}"), CallEnd(is_complete=True)]
        if rest.startswith(PARAMETER):
            return self._parameter(rest)
        may_follow = PARAMETER.startswith(rest) or END_OF_FUNCTION.startswith(rest)
        return None if may_follow else self._break_off()

    def _function(self, rest: str) -> list[AnswerEvent] | None:
        name, end, after = rest.removeprefix(FUNCTION).partition(">")
        if FUNCTION.startswith(rest[: len(FUNCTION)]) and not end and len(name) <= _LONGEST_NAME and "\n" not in name:
            return None
        if not rest.startswith(FUNCTION) or not name.strip() or len(name) > _LONGEST_NAME or "\n" in name:
            return self._break_off()
        self.has_called, self._name, self._held = True, name.strip(), after
        return [CallStart(self._name), ArgumentsPiece("{")]

    def _parameter(self, rest: str) -> list[AnswerEvent] | None:
        name, end, after = rest.removeprefix(PARAMETER).partition(">")
        if not end and len(name) <= _LONGEST_NAME:
            return None
        if len(name) > _LONGEST_NAME or name in self._seen:
            return self._break_off()
        between = ", " if self._seen else ""
        self._seen.add(name)
        self._value = _Value(is_json=field_name(self._name, name) in self._json_fields)
        self._held = after
        return [ArgumentsPiece(f"{between}{_string(name)}: ")]

    def _next_of_value(self, value: "_Value") -> list[AnswerEvent] | None:
        held, self._held = self._held, ""
        written = value.push(held)
        if value.unread is not None:
            self._held, self._value = value.unread, None
        elif not written:
            return None
        return [ArgumentsPiece(written)]

    def _break_off(self) -> list[AnswerEvent]:
        self.is_broken = self.is_over = True
        if not self.has_called:
            self._held = self._held.removeprefix(self._mark)
        return [CallEnd(is_complete=False)] if self.has_called else []


class _Value:
    """Reader of one value, up to its end mark and without the line ends around it.

    unread: text after the value; None while the value is incomplete.
    """

    def __init__(self, *, is_json: bool) -> None:
        self.unread: str | None = None
        self._is_json = is_json
        self._held = ""
        self._has_begun = False
        self._has_quoted = False

    def push(self, text: str) -> str:
        """Add text and return the JSON that it adds to the arguments."""
        self._held += text
        if not self._has_begun and self._held:
            self._has_begun = True
            self._held = self._held.removeprefix("\n")
        value, end, after = self._held.partition(END_OF_PARAMETER)
        if end:
            self.unread = after
            value = value.removesuffix("\n")
            return _json_value(value) if self._is_json else self._quoted(value) + '"'
        if self._is_json:
            return ""
        kept = _held_back(self._held)
        value, self._held = self._held[: len(self._held) - kept], self._held[len(self._held) - kept :]
        return self._quoted(value) if value else ""

    def _quoted(self, text: str) -> str:
        opening = "" if self._has_quoted else '"'
        self._has_quoted = True
        return opening + _string(text)[1:-1]


def _held_back(text: str) -> int:
    """Return the length of the longest suffix that may belong to the end of the value."""
    mark = "\n" + END_OF_PARAMETER
    lengths = range(min(len(mark), len(text)), 0, -1)
    return next((size for size in lengths if mark.startswith(text[-size:]) or mark[1:].startswith(text[-size:])), 0)


def _json_value(text: str) -> str:
    """Return a value as JSON. A text that is not JSON becomes a string."""
    stripped = text.strip()
    stripped = _PYTHON.get(stripped, stripped)
    scanner = JsonScanner()
    # A number ends where another character follows it.
    written = "".join(token.text for token in scanner.tokens(stripped + " "))
    return written if scanner.is_done and not scanner.unread.strip() else _string(text)


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
