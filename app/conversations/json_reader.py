"""A JSON document read piece by piece, where a library would hold the interpreter for as long as all of it takes."""

import json
import math
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

from engine.errors import InvalidRequestError

_SPACE = re.compile(r"[ \t\n\r]*")

MAX_DEPTH = 50_000
"""Maximum depth of lists and objects that are read apart. Each message of a tree may be within the one before it."""


@dataclass(slots=True)
class _Open:
    """A list or object whose elements are being read."""

    value: dict[str, Any] | list[Any]
    is_begun: bool = False


class JsonReader:
    """A place in a document. A member or element must be read to its end before the next one is requested."""

    def __init__(self, body: bytes, on_value: Callable[[], None] = lambda: None) -> None:
        """Decode `body`. Raises InvalidRequestError for bytes that are not UTF-8.

        on_value: called before each value. An error that it raises ends the reading.
        """
        self.on_value = on_value
        try:
            self._text = body.decode()
        except UnicodeDecodeError as error:
            raise _invalid(str(error)) from None
        self._at = 0
        # A large value is read in C, and other threads may run only while it calls functions in Python.
        self._decoder = json.JSONDecoder(
            object_hook=_unchanged, parse_constant=_refuse_constant, parse_float=_finite, parse_int=_whole
        )

    def next_is(self, character: str) -> bool:
        """Return whether the next value begins with `character`: an object with "{", a list with "["."""
        return self._peek() == character

    def value(self) -> Any:
        """Read a value in one piece. Raises InvalidRequestError."""
        self.on_value()
        begin = self._skip()
        try:
            value, self._at = self._decoder.raw_decode(self._text, begin)
            if "\\u" in self._text[begin : self._at]:
                # A lone half of a surrogate pair can be escaped, and neither stored nor sent.
                json.dumps(value, ensure_ascii=False).encode()
        except RecursionError:
            raise _invalid("nested too deeply") from None
        except ValueError as error:
            raise _invalid(str(error)) from None
        return value

    def value_apart(self, apart: Collection[str]) -> Any:
        """Read a value, and its members named in `apart`, element by element at any depth. Raises InvalidRequestError.

        Elements of a list that is read apart are read apart too. Other values are read in one piece.
        """
        if (root := self._opened()) is None:
            return self.value()
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
            value = self.value() if inner is None else inner.value
            if isinstance(top.value, list):
                top.value.append(value)
            else:
                assert name is not None
                top.value[name] = value
            if inner is not None:
                stack.append(inner)
                if len(stack) > MAX_DEPTH:
                    raise _invalid("nested too deeply")
        return root.value

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

    def end(self) -> None:
        """Make sure that nothing follows. Raises InvalidRequestError."""
        if self._skip() < len(self._text):
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


def _whole(text: str) -> int:
    return int(text)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a valid number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large")
    return number
