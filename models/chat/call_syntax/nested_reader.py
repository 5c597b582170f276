"""Incremental reader of one call with an element for each value, also within objects and lists: MiniMax M3's.

Every tag follows a mark, so the text of a value needs no escapes. The arguments become JSON. The text of a parameter is
emitted while it is written, and any other parameter at its end.
"""

import re
from typing import Final

from models.chat.call_syntax.element_reader import json_value
from models.chat.call_syntax.fields import ITEM, LIST, TEXT, field_name
from models.chat.call_syntax.headed_reader import beginnings, literal
from models.chat.call_syntax.part_reader import PartReader
from models.chat.call_syntax.rules import json_text
from models.chat.quoted_marks import begun
from models.chat.tool_calls import AnswerEvent, ArgumentsPiece, CallEnd, CallStart

MARK: Final = "]<]minimax[>["
NAME_START, CALL_END = f'{MARK}<invoke name="', f"{MARK}</invoke>"

_LONGEST_TAG: Final = 320
_MAX_DEPTH: Final = 32
_NAME = re.compile(rf'([^"<>\n]*[^"<>\s][^"<>\n]*)">\s*(?={re.escape(MARK)})')
_BEGUN_NAME = re.compile(r'[^"<>\n]*(?:"(?:>\s*' + beginnings(*literal(MARK)) + ")?)?")
_TAG = re.compile(rf"{re.escape(MARK)}<(/?)([^<>/][^<>]*)>")
_SCALAR = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?|true|false|null")


class _Value:
    """A value that is being read. name, path: of its element, and of the value in the schema."""

    def __init__(self, name: str, path: str) -> None:
        self.name = name
        self.path = path
        self.has_begun_text = False
        self.parts = list[str]()
        self.inner = list[tuple[str, str]]()

    @property
    def text(self) -> str:
        return "".join(self.parts)


class NestedReader(PartReader):
    """A `CallReader`. The call begins with its name."""

    def __init__(self, json_fields: frozenset[str]) -> None:
        """Create the reader. json_fields: as `nested_fields` names them."""
        super().__init__()
        self._json_fields = json_fields
        self._name = ""
        self._seen = set[str]()
        self._values = list[_Value]()

    def finish(self) -> list[AnswerEvent]:
        """See `CallReader`. An incomplete value that is not a text is left out."""
        return [CallEnd(is_complete=False)] if self.has_called else []

    def _next(self) -> list[AnswerEvent] | None:
        """Read the next part. Return its events; None if the part is incomplete."""
        if not self.has_called:
            return self._function()
        at = self._held.find(MARK)
        before = self._held[: at if at >= 0 else len(self._held) - begun(self._held, MARK)]
        if before:
            self._held = self._held[len(before) :]
            return self._text(before)
        return self._tag() if at == 0 else None

    def _function(self) -> list[AnswerEvent] | None:
        found = _NAME.match(self._held)
        if found is not None and found.end() <= _LONGEST_TAG:
            self.has_called, self._name, self._held = True, found[1].strip(), self._held[found.end() :]
            return [CallStart(self._name), ArgumentsPiece("{")]
        is_begun = len(self._held) <= _LONGEST_TAG and _BEGUN_NAME.fullmatch(self._held) is not None
        return None if is_begun else self._break_off()

    def _text(self, text: str) -> list[AnswerEvent]:
        """Read text before a tag."""
        value = self._values[-1] if self._values else None
        if value is None or value.inner:
            return self._break_off(text.lstrip()) if text.strip() else []
        value.parts.append(text)
        is_streamed = len(self._values) == 1 and value.path not in self._json_fields
        if not is_streamed or not (value.has_begun_text or text.strip()):
            return []
        written = json_text(value.text)[1:-1]
        opening = "" if value.has_begun_text else '"'
        value.has_begun_text = True
        value.parts.clear()
        return [ArgumentsPiece(opening + written)]

    def _tag(self) -> list[AnswerEvent] | None:
        found = _TAG.match(self._held)
        if found is None or found.end() > _LONGEST_TAG:
            is_begun = len(self._held) <= _LONGEST_TAG and "<".startswith(self._held[len(MARK) :][:1])
            return None if found is None and is_begun else self._break_off()
        is_end, name = bool(found[1]), found[2]
        value = self._values[-1] if self._values else None
        if is_end and value is not None and value.name == name:
            self._held = self._held[found.end() :]
            return self._close(value)
        if is_end and value is None and found[0] == CALL_END:
            self._held, self.is_over = self._held[found.end() :], True
            return [ArgumentsPiece("}"), CallEnd(is_complete=True)]
        is_valid = not is_end and len(self._values) < _MAX_DEPTH and (value is not None or name not in self._seen)
        if not is_valid or (value is not None and (value.has_begun_text or value.text.strip())):
            return self._break_off()
        self._held = self._held[found.end() :]
        return self._open(name)

    def _open(self, name: str) -> list[AnswerEvent]:
        path = field_name(self._values[-1].path if self._values else self._name, name)
        self._values.append(_Value(name, path))
        if len(self._values) > 1:
            return []
        between = ", " if self._seen else ""
        self._seen.add(name)
        return [ArgumentsPiece(f"{between}{json_text(name)}: ")]

    def _close(self, value: _Value) -> list[AnswerEvent]:
        self._values.pop()
        if value.has_begun_text:
            return [ArgumentsPiece('"')]
        written = self._json(value)
        if not self._values:
            return [ArgumentsPiece(written)]
        self._values[-1].parts.clear()
        self._values[-1].inner.append((value.name, written))
        return []

    def _json(self, value: _Value) -> str:
        """Return a value as JSON."""
        if value.inner:
            if all(name == ITEM for name, _ in value.inner):
                return f"[{', '.join(written for _, written in value.inner)}]"
            return f"{{{', '.join(f'{json_text(name)}: {written}' for name, written in dict(value.inner).items())}}}"
        text, path = value.text, value.path
        if path in self._json_fields:
            empty = "[]" if path + LIST in self._json_fields else "{}"
            return json_value(text) if text.strip() else empty
        is_text = len(self._values) == 0 or path + TEXT in self._json_fields
        return text if not is_text and _SCALAR.fullmatch(text) is not None else json_text(text)

    def _break_off(self, text: str = "") -> list[AnswerEvent]:
        """End at a text that cannot continue the call."""
        self.is_broken = self.is_over = True
        self._held = text + self._held
        return [CallEnd(is_complete=False)] if self.has_called else []
