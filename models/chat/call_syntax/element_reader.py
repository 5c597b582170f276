"""Incremental reader of one call with an element for each parameter.

The arguments become JSON. The value of a parameter that may be a text is one, and is emitted while it is written. Any
other value is JSON, and is emitted at its end.
"""

import re
from dataclasses import dataclass
from typing import Final

from models.chat.call_syntax.fields import field_name
from models.chat.call_syntax.literal_scanner import LiteralScanner
from models.chat.call_syntax.part_reader import PartReader
from models.chat.call_syntax.rules import json_text
from models.chat.json_scanner import JsonScanner
from models.chat.tool_calls import AnswerEvent, ArgumentsPiece, CallEnd, CallStart

LONGEST_SPACE: Final = 256
"""Maximum number of characters of white space before a call. Space that is held back is read again with each piece."""

_LONGEST_NAME = 512
_LONGEST_FIELD = 320
"""Maximum number of characters before the value of a parameter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Elements:
    """Texts around the parts of a call.

    name_start: text before the name of the function.
    name: matches the rest of the call's beginning. The name is the first group.
    begun_name: matches a part of such a beginning.
    field_start: text with which every parameter begins.
    field: matches all up to the value of a parameter. The name of the parameter is the first group. The group `is_text`
        is "true" or "false" if the call itself says whether the value is a text.
    field_end: text after a value.
    end: text after the last parameter.
    quote: texts around a value that contains the characters of marks; empty if there are none.
    has_lines: a value is on its own lines.
    mention: matches the text after a mark that a sentence mentions with its end; None if any such text is a call.
    """

    name_start: str
    name: re.Pattern[str]
    begun_name: re.Pattern[str]
    field_start: str
    field: re.Pattern[str]
    field_end: str
    end: str
    quote: tuple[str, str] = ("", "")
    has_lines: bool = False
    mention: re.Pattern[str] | None = None


def named_elements(function: str, parameter: str, attributes: str = "", quote: tuple[str, str] = ("", "")) -> Elements:
    """Return the elements of calls whose names are attributes: <invoke name="f"><parameter name="a">x</parameter>.

    function, parameter: names of the elements.
    attributes: matches further attributes of a parameter.
    quote: as in `Elements`.
    """
    return Elements(
        name_start=f'<{function} name="',
        name=re.compile(r'([^"<>\n]*[^"<>\s][^"<>\n]*)">\s*(?=<)'),
        begun_name=re.compile(r'[^"<>\n]*(?:">?)?\s*'),
        field_start=f'<{parameter} name="',
        field=re.compile(rf'<{parameter} name="([^"]*)"{attributes}\s*>'),
        field_end=f"</{parameter}>",
        end=f"</{function}>",
        quote=quote,
    )


class ElementReader(PartReader):
    """A `CallReader`. The call begins with its name."""

    def __init__(self, elements: Elements, json_fields: frozenset[str], mark: str = "") -> None:
        """Create the reader.

        json_fields: as in `CallSyntax.reader`.
        mark: part of the call that has been read as a mark.
        """
        super().__init__(mark)
        self._elements = elements
        self._json_fields = json_fields
        self._mark = mark
        self._name = ""
        self._seen = set[str]()
        self._value: _Value | None = None

    def finish(self) -> list[AnswerEvent]:
        """See `CallReader`. An incomplete value that is JSON is left out."""
        return [CallEnd(is_complete=False)] if self.has_called else []

    def _next(self) -> list[AnswerEvent] | None:
        """Read the next part. Return its events; None if the part is incomplete."""
        if self._value is not None:
            return self._next_of_value(self._value)
        rest = self._held.lstrip()
        if not self.has_called:
            return self._function(rest) if len(self._held) - len(rest) <= LONGEST_SPACE else self._break_off()
        self._held = rest
        start, end = self._elements.field_start, self._elements.end
        if rest.startswith(end):
            self._held = rest.removeprefix(end)
            self.is_over = True
            return [ArgumentsPiece("}"), CallEnd(is_complete=True)]
        if rest.startswith(start):
            return self._parameter(rest)
        return None if start.startswith(rest) or end.startswith(rest) else self._break_off()

    def _function(self, rest: str) -> list[AnswerEvent] | None:
        start = self._elements.name_start
        name = rest.removeprefix(start)
        found = self._elements.name.match(name) if rest.startswith(start) else None
        mention = self._elements.mention
        if found is not None and mention is not None and mention.match(self._held) is not None:
            return self._break_off()
        if found is not None and found.end() <= _LONGEST_NAME:
            self.has_called, self._name, self._held = True, found[1].strip(), name[found.end() :]
            return [CallStart(self._name), ArgumentsPiece("{")]
        is_begun = rest.startswith(start) and self._elements.begun_name.fullmatch(name) is not None
        return None if start.startswith(rest) or (is_begun and len(name) <= _LONGEST_NAME) else self._break_off()

    def _parameter(self, rest: str) -> list[AnswerEvent] | None:
        found = self._elements.field.match(rest)
        if found is None and len(rest) <= _LONGEST_FIELD:
            return None
        if found is None or found.end() > _LONGEST_FIELD or found[1] in self._seen:
            return self._break_off()
        opening, closing = self._elements.quote
        value = rest[found.end() :]
        if opening != value and opening.startswith(value):
            return None
        is_quoted = opening != "" and value.startswith(opening)
        end = (closing if is_quoted else "") + self._elements.field_end
        self._value = _Value(end, is_json=self._is_json(found), has_lines=self._elements.has_lines)
        self._held = value.removeprefix(opening)
        between = ", " if self._seen else ""
        self._seen.add(found[1])
        return [ArgumentsPiece(f"{between}{json_text(found[1])}: ")]

    def _is_json(self, field: re.Match[str]) -> bool:
        is_text = field.groupdict().get("is_text")
        return is_text == "false" if is_text else field_name(self._name, field[1]) in self._json_fields

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
    """Reader of one value, up to its end mark. has_lines: line ends around the value are not part of it.

    unread: text after the value; None while the value is incomplete.
    """

    def __init__(self, end: str, *, is_json: bool, has_lines: bool) -> None:
        self.unread: str | None = None
        self._end = end
        self._line_end = "\n" if has_lines else ""
        self._is_json = is_json
        self._held = ""
        self._parts = list[str]()
        self._has_begun = False
        self._has_quoted = False

    def push(self, text: str) -> str:
        """Add text and return the JSON that it adds to the arguments."""
        return self._push_json(text) if self._is_json else self._push_text(text)

    def _push_json(self, text: str) -> str:
        """Add text of a value that is emitted at its end. The end is searched for in the last text alone."""
        self._parts.append(text)
        self._held = (self._held + text)[-(len(text) + len(self._end)) :]
        if self._end not in self._held:
            return ""
        value, _, self.unread = "".join(self._parts).partition(self._end)
        return json_value(value.removeprefix(self._line_end).removesuffix(self._line_end))

    def _push_text(self, text: str) -> str:
        self._held += text
        if not self._has_begun and self._held:
            self._has_begun = True
            self._held = self._held.removeprefix(self._line_end)
        value, end, after = self._held.partition(self._end)
        if end:
            self.unread = after
            return self._quoted(value.removesuffix(self._line_end)) + '"'
        kept = _held_back(self._held, self._line_end, self._end)
        value, self._held = self._held[: len(self._held) - kept], self._held[len(self._held) - kept :]
        return self._quoted(value) if value else ""

    def _quoted(self, text: str) -> str:
        opening = "" if self._has_quoted else '"'
        self._has_quoted = True
        return opening + json_text(text)[1:-1]


def _held_back(text: str, line_end: str, mark: str) -> int:
    """Return the length of the longest suffix that may belong to the end of the value."""
    whole = line_end + mark
    lengths = range(min(len(whole), len(text)), 0, -1)
    return next((size for size in lengths if whole.startswith(text[-size:]) or mark.startswith(text[-size:])), 0)


def json_value(text: str) -> str:
    """Return a value, in JSON or as Python writes it, as JSON. Any other text becomes a string."""
    for scanner in (JsonScanner(), LiteralScanner()):
        # A number ends where another character follows it.
        written = scanner.push(text.strip() + " ")
        if scanner.is_done and not scanner.unread.strip():
            return written
    return json_text(text)
