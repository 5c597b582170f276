"""Incremental scanner of one JSON value, for text that comes in pieces.

The grammar is that of RFC 8259. The scanner also refuses values that common parsers refuse: half of a surrogate pair,
very long numbers, and deep nesting. The text of the tokens read so far is therefore always the beginning of a value
that every client can parse. A number may be beyond a double: grammars allow it, and parsers read it as infinite.
"""

import re
from collections.abc import Iterator
from enum import Enum, auto
from typing import Final, Literal, NamedTuple

MAX_DEPTH: Final = 100
"""Maximum number of lists and objects around a value. Clients' parsers stop at 200."""

LONGEST_SCALAR: Final = 1000
"""Maximum length of a number, in characters. A double has at most 767 significant digits."""

_SPACE = re.compile(r"[ \t\n\r]+")
_PLAIN = re.compile(r'[^"\\\x00-\x1f]+')
_ESCAPE = re.compile(
    r'\\(?:["\\/bfnrt]'
    r"|u(?:[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?![dD][89a-fA-F])[0-9a-fA-F]{4}))"
)
_BEGUN_ESCAPE = re.compile(
    r"\\(?:u(?:[0-9a-fA-F]{0,3}|[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u(?:[dD](?:[c-fC-F][0-9a-fA-F]?)?)?)?)?))?"
)
_SCALAR = re.compile(r"[-+.0-9A-Za-z]+")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_BEGUN_NUMBER = re.compile(r"-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?(?:(?<=[0-9])[eE][-+]?[0-9]*)?)?")
_LITERALS: Final = ("true", "false", "null")
_CLOSING: Final = {"{": "}", "[": "]"}

Kind = Literal[
    "space", "open", "close", "comma", "colon", "begin string", "characters", "escape", "end string", "scalar"
]
"""characters, escape: parts of a string. A pair of surrogates is one escape. scalar: a number, true, false or null."""


class JsonToken(NamedTuple):
    """A token as it was written.

    level: number of lists and objects around the token. A bracket has the level of the value that it opens or closes.
    is_key: the token is part of the name of a field.
    """

    kind: Kind
    text: str
    level: int
    is_key: bool = False


class _Expected(Enum):
    VALUE = auto()
    FIRST_VALUE = auto()
    FIRST_KEY = auto()
    KEY = auto()
    COLON = auto()
    MORE = auto()
    IN_STRING = auto()
    IN_KEY = auto()
    NOTHING = auto()


_VALUES: Final = (_Expected.VALUE, _Expected.FIRST_VALUE)
_KEYS: Final = (_Expected.KEY, _Expected.FIRST_KEY)
_BEFORE_CLOSING: Final = (_Expected.MORE, _Expected.FIRST_VALUE, _Expected.FIRST_KEY)
_STRINGS: Final = (_Expected.IN_STRING, _Expected.IN_KEY)


class JsonScanner:
    """Scanner of one value. The tokens do not depend on how the text was split, except that characters may be split.

    is_broken: the text cannot be continued to a value. The first character at fault, or the escape or the scalar that
        contains it, is the beginning of `unread`.
    unread: text that is not part of a token yet, or that follows the value.
    """

    def __init__(self) -> None:
        self.is_broken = False
        self._text = ""
        self._at = 0
        self._closing: list[str] = []
        self._expected = _Expected.VALUE

    @property
    def is_done(self) -> bool:
        """Whether the value is complete."""
        return self._expected is _Expected.NOTHING

    @property
    def unread(self) -> str:
        """Text that is not part of a token."""
        return self._text[self._at :]

    def tokens(self, text: str) -> Iterator[JsonToken]:
        """Add `text` and yield the tokens that it completes, up to the end of the value."""
        self._text, self._at = self.unread + text, 0
        while self._can_continue and (token := self._next()) is not None:
            yield token

    def push(self, text: str) -> str:
        """Add `text` and return the text of the tokens that it completes."""
        return "".join(token.text for token in self.tokens(text))

    @property
    def _can_continue(self) -> bool:
        return not self.is_broken and not self.is_done and self._at < len(self._text)

    def _next(self) -> JsonToken | None:
        """Return the next token; None if it is incomplete or wrong."""
        if self._expected in _STRINGS:
            return self._next_in_string()
        if (space := _SPACE.match(self._text, self._at)) is not None:
            return self._token("space", space.end())
        match self._text[self._at]:
            case "{" | "[" as bracket if self._expected in _VALUES and len(self._closing) < MAX_DEPTH:
                token = self._token("open", self._at + 1)
                self._closing.append(_CLOSING[bracket])
                self._expected = _Expected.FIRST_KEY if bracket == "{" else _Expected.FIRST_VALUE
                return token
            case "}" | "]" as bracket if self._expected in _BEFORE_CLOSING and self._closing[-1] == bracket:
                self._closing.pop()
                self._end_value()
                return self._token("close", self._at + 1)
            case "," if self._expected is _Expected.MORE:
                self._expected = _Expected.KEY if self._closing[-1] == "}" else _Expected.VALUE
                return self._token("comma", self._at + 1)
            case ":" if self._expected is _Expected.COLON:
                self._expected = _Expected.VALUE
                return self._token("colon", self._at + 1)
            case '"' if self._expected in _VALUES or self._expected in _KEYS:
                self._expected = _Expected.IN_KEY if self._expected in _KEYS else _Expected.IN_STRING
                return self._token("begin string", self._at + 1)
        return self._scalar() if self._expected in _VALUES else self._broken()

    def _next_in_string(self) -> JsonToken | None:
        if (plain := _PLAIN.match(self._text, self._at)) is not None:
            return self._token("characters", plain.end())
        if (escape := _ESCAPE.match(self._text, self._at)) is not None:
            return self._token("escape", escape.end())
        if self._text[self._at] == '"':
            token = self._token("end string", self._at + 1)
            if self._expected is _Expected.IN_KEY:
                self._expected = _Expected.COLON
            else:
                self._end_value()
            return token
        is_begun = _BEGUN_ESCAPE.fullmatch(self._text, self._at) is not None
        return None if is_begun else self._broken()

    def _scalar(self) -> JsonToken | None:
        found = _SCALAR.match(self._text, self._at)
        if found is None or len(found[0]) > LONGEST_SCALAR:
            return self._broken()
        text = found[0]
        if found.end() == len(self._text):
            is_begun = any(word.startswith(text) for word in _LITERALS) or _BEGUN_NUMBER.fullmatch(text) is not None
            return None if is_begun else self._broken()
        if text not in _LITERALS and _NUMBER.fullmatch(text) is None:
            return self._broken()
        token = self._token("scalar", found.end())
        self._end_value()
        return token

    def _token(self, kind: Kind, end: int) -> JsonToken:
        text, self._at = self._text[self._at : end], end
        return JsonToken(kind, text, len(self._closing), self._expected is _Expected.IN_KEY)

    def _end_value(self) -> None:
        self._expected = _Expected.MORE if self._closing else _Expected.NOTHING

    def _broken(self) -> JsonToken | None:
        self.is_broken = True
        return None
