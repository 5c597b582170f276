"""A JSON document read piece by piece, where a library would hold the interpreter for as long as all of it takes.

A character or a number that JSON cannot have costs no more than itself: it becomes U+FFFD, or null.
"""

import codecs
import json
import math
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any, Final

from engine.api.errors import InvalidRequestError

MAX_DEPTH: Final = 50_000
"""Maximum depth of lists and objects that are read apart. Each message of a tree may be within the one before it."""

UNREADABLE: Final = object()
"""Value in place of one that is no JSON."""

_PIECE_BYTES: Final = 1 << 20
"""Bytes that are decoded between two moments at which other threads may run."""

_SPACE = re.compile(r"[ \t\n\r]*")
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_STRING_OR_BRACKET = re.compile(rf"{_STRING.pattern}|[\[\]{{}}]", re.DOTALL)
_OTHER = re.compile(r"[^,\]}]*+")
_ESCAPED_HALF = re.compile(r"\\u[dD][89a-fA-F]")
_HALF = re.compile("[\ud800-\udfff]")
_REPLACEMENT: Final = "\ufffd"


def text_of(body: bytes) -> str:
    """Decode a file in UTF-8, UTF-16 or UTF-32, with a byte order mark or without. Windows PowerShell writes UTF-16.

    Bytes that stand for no character become U+FFFD.
    """
    pieces = (body[at : at + _PIECE_BYTES] for at in range(0, len(body), _PIECE_BYTES))
    return "".join(codecs.iterdecode(pieces, encoding_of(body), "replace"))


def encoding_of(body: bytes) -> str:
    """Return the encoding of a file, by its first bytes."""
    return "utf-8-sig" if (found := json.detect_encoding(body)) == "utf-8" else found


@dataclass(slots=True)
class _Open:
    """A list or object whose elements are being read."""

    value: dict[str, Any] | list[Any]
    is_begun: bool = False


class JsonReader:
    """A place in a document. A member or element must be read to its end before the next one is requested."""

    def __init__(self, text: str, on_value: Callable[[], None] = lambda: None) -> None:
        """Begin at the beginning of `text`.

        on_value: called before each value. An error that it raises ends the reading.
        """
        self.on_value = on_value
        self.is_cut = False
        self._text = text
        self._at = 0

    def next_is(self, character: str) -> bool:
        """Return whether the next value begins with `character`: an object with "{", a list with "["."""
        return self._peek() == character

    def value(self) -> Any:
        """Read a value in one piece. Raise InvalidRequestError."""
        self.on_value()
        begin = self._skip()
        try:
            value, self._at = _DECODER.raw_decode(self._text, begin)
        except RecursionError:
            raise _invalid("nested too deeply") from None
        except ValueError as error:
            raise _invalid(str(error)) from None
        return _in_whole_characters(value) if _ESCAPED_HALF.search(self._text, begin, self._at) else value

    def value_apart(self, apart: Collection[str]) -> Any:
        """Read a value, and its members named in `apart`, element by element at any depth.

        Elements of a list that is read apart are read apart too. Other values are read in one piece. A piece that is no
        JSON is UNREADABLE. Where a piece has no end, or something else is between two of them, the value ends, and
        `is_cut` is true.
        """
        self.is_cut = False
        begin = self._skip()
        root = self._opened()
        try:
            if root is None:
                return self._value_if_readable()
            self._fill(root, apart)
        except InvalidRequestError:
            self.is_cut = True
            end = self._end_of(begin)
            self._at = len(self._text) if end is None else end
        return UNREADABLE if root is None else root.value

    def _fill(self, root: _Open, apart: Collection[str]) -> None:
        """Read the elements of a list or an object, and add each to it."""
        stack = [root]
        while stack:
            top = stack[-1]
            if self._taken("}" if isinstance(top.value, dict) else "]"):
                stack.pop()
                continue
            if top.is_begun:
                self._take(",")
            top.is_begun = True
            name = self._name() if isinstance(top.value, dict) else None
            inner = self._opened() if name is None or name in apart else None
            value = self._value_if_readable() if inner is None else inner.value
            if isinstance(top.value, list):
                top.value.append(value)
            else:
                assert name is not None
                top.value[name] = value
            if inner is not None:
                stack.append(inner)
                if len(stack) > MAX_DEPTH:
                    raise _invalid("nested too deeply")

    def _value_if_readable(self) -> Any:
        """Read a value in one piece; UNREADABLE if it is no JSON. Raise InvalidRequestError if it has no end."""
        begin = self._skip()
        try:
            return self.value()
        except InvalidRequestError:
            end = self._end_of(begin)
            if end is None:
                raise
            self._at = end
            return UNREADABLE

    def _end_of(self, begin: int) -> int | None:
        """Return where a value ends that is no JSON, by its brackets and quotes; None if it has no end."""
        first = self._text[begin : begin + 1]
        if first not in ("[", "{"):
            found = (_STRING if first == '"' else _OTHER).match(self._text, begin)
            assert found is not None
            return found.end() if found.end() < len(self._text) else None
        depth = 0
        for found in _STRING_OR_BRACKET.finditer(self._text, begin):
            self.on_value()
            mark = self._text[found.start()]
            depth += (mark in "[{") - (mark in "]}")
            if depth == 0:
                return found.end()
        return None

    def first_member(self) -> str | None:
        """Return the name of the next object's first member without reading it; None if the object is empty."""
        at = self._at
        try:
            return next(self.members(), None)
        finally:
            self._at = at

    def members(self) -> Iterator[str]:
        """Yield the names of an object's members; the caller reads the value of each."""
        self._take("{")
        if self._taken("}"):
            return
        while True:
            yield self._name()
            if self._taken("}"):
                return
            self._take(",")

    def elements(self) -> Iterator[int]:
        """Yield the numbers of a list's elements; the caller reads each."""
        self._take("[")
        if self._taken("]"):
            return
        index = 0
        while True:
            yield index
            if self._taken("]"):
                return
            self._take(",")
            index += 1

    def has_lines(self) -> bool:
        """Return whether a later line begins with an object, as no line within another one does."""
        return self._text.find("\n{", self._skip()) >= 0

    def lines(self) -> Iterator["JsonReader"]:
        """Yield a reader of each line that follows and is not empty."""
        while not self.is_at_end():
            begin, end = self._at, self._text.find("\n", self._at)
            self._at = len(self._text) if end < 0 else end
            yield JsonReader(self._text[begin : self._at], self.on_value)

    def is_at_end(self) -> bool:
        """Return whether nothing follows."""
        return self._skip() == len(self._text)

    def end(self) -> None:
        """Make sure that nothing follows. Raise InvalidRequestError."""
        if not self.is_at_end():
            raise _invalid(f"unexpected data at character {self._at}")

    def _name(self) -> str:
        name = self.value()
        if not isinstance(name, str):
            raise _invalid(f"a name was expected before character {self._at}")
        self._take(":")
        return name

    def _opened(self) -> _Open | None:
        """Take the beginning of a list or an object; None if the next value is neither."""
        if self._taken("{"):
            return _Open({})
        return _Open([]) if self._taken("[") else None

    def _skip(self) -> int:
        found = _SPACE.match(self._text, self._at)
        assert found is not None
        self._at = found.end()
        return self._at

    def _peek(self) -> str:
        begin = self._skip()
        return self._text[begin : begin + 1]

    def _taken(self, character: str) -> bool:
        if self._peek() != character:
            return False
        self._at += 1
        return True

    def _take(self, character: str) -> None:
        if not self._taken(character):
            raise _invalid(f"{character!r} was expected at character {self._at}")


def _invalid(reason: str) -> InvalidRequestError:
    return InvalidRequestError(f"The body is not valid JSON: {reason}", code="invalid_json")


def _unchanged(value: dict[str, Any]) -> dict[str, Any]:
    return value


def _whole(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        # Python converts no number of thousands of digits.
        return None


def _finite(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None


def _no_number(_name: str) -> None:
    """Return null for NaN and the infinities."""


_DECODER: Final = json.JSONDecoder(
    # A large value is read in C, and other threads may run only while it calls functions in Python.
    object_hook=_unchanged,
    parse_constant=_no_number,
    parse_float=_finite,
    parse_int=_whole,
    strict=False,
)


def parsed(text: str) -> Any:
    """Parse a text within a file that is itself JSON. Raise ValueError."""
    try:
        return _in_whole_characters(_DECODER.decode(text))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _in_whole_characters(value: Any) -> Any:
    """Replace each lone half of a surrogate pair, which can be escaped, and neither stored nor sent."""
    whole = [value]
    todo: list[Any] = [whole]
    while todo:
        at = todo.pop()
        if isinstance(at, dict) and any(map(_HALF.search, at)):
            renamed = {_HALF.sub(_REPLACEMENT, name): inner for name, inner in at.items()}
            at.clear()
            at.update(renamed)
        for name, inner in at.items() if isinstance(at, dict) else enumerate(at):
            if isinstance(inner, str):
                at[name] = _HALF.sub(_REPLACEMENT, inner)
            elif isinstance(inner, dict | list):
                todo.append(inner)
    return whole[0]
