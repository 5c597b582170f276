"""A JSON document read piece by piece, where a library would hold the interpreter for as long as all of it takes."""

import json
import math
import re
from collections.abc import Iterator
from typing import Any

from engine.errors import InvalidRequestError

_SPACE = re.compile(r"[ \t\n\r]*")


class JsonReader:
    """A place in a document. A member or element must be read to its end before the next one is requested."""

    def __init__(self, body: bytes) -> None:
        """Decode `body`. Raises InvalidRequestError for bytes that are not UTF-8."""
        try:
            self._text = body.decode()
        except UnicodeDecodeError as error:
            raise _invalid(str(error)) from None
        self._at = 0
        self._decoder = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite)

    def next_is(self, character: str) -> bool:
        """Return whether the next value begins with `character`: an object with "{", a list with "["."""
        return self._peek() == character

    def value(self) -> Any:
        """Read a value in one piece. Raises InvalidRequestError."""
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

    def members(self) -> Iterator[str]:
        """Yield the names of an object's members; the caller reads the value of each."""
        self._take("{")
        if self._taken("}"):
            return
        while True:
            name = self.value()
            if not isinstance(name, str):
                raise _invalid(f"a name was expected before character {self._at}")
            self._take(":")
            yield name
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


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a valid number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large")
    return number
