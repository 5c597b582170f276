"""Incremental translator of one value, written as a literal of Python or of Gemma 4, to JSON.

Strings are translated here. All other structure is checked by `models.chat.json_scanner`, so the JSON so far is always
the beginning of a value that every client can parse.
"""

import json
import re
from dataclasses import dataclass
from typing import Final

from models.chat.json_scanner import LONGEST_SCALAR, JsonScanner

_SPACE = re.compile(r"\s+")
_WORD = re.compile(r"[-+.$\w]+")
_SCALAR = re.compile(r"[-+.0-9A-Za-z]+")
_NUMBER_IN_GROUPS = re.compile(r"-?[1-9][0-9]*(?:_[0-9]+)+")
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|x[0-9a-fA-F]{2}"
    r"|[^uUx])",
    re.DOTALL,
)
_HALF = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_LONGEST_ESCAPE: Final = 12
_AFTER_STRING: Final = ",:)]}"
_MOST_SPACE: Final = 16
"""Number of characters behind a quote within which one of those after a string is looked for."""

_INVALID: Final = "\\?"
"""Text that is no JSON, in a string or outside of one."""

_NAMED: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "a": "\a", "0": "\0", "\n": ""}
_JSON_WORDS: Final = {"True": "true", "False": "false", "None": "null"}


@dataclass(frozen=True, slots=True)
class Notation:
    """Notation of a family's values.

    quotes: characters around strings with escapes. Models also write such a character within a string without an
        escape, so one ends the string only before a comma, a colon or a closing bracket.
    raw_quote: text around strings without escapes; empty if there are none.
    has_bare_keys: the keys of objects may stand without quotes.
    """

    quotes: tuple[str, ...]
    raw_quote: str = ""
    has_bare_keys: bool = False


PYTHON: Final = Notation(("'", '"'))


class LiteralScanner:
    """Translator of one value.

    is_broken: the text cannot be continued to a value.
    unread: text that follows the value, or the part that is broken.
    """

    def __init__(self, notation: Notation = PYTHON) -> None:
        self.is_broken = False
        self._notation = notation
        self._text = ""
        self._at = 0
        self._quote = ""
        self._json = JsonScanner()

    @property
    def is_done(self) -> bool:
        """Whether the value is complete."""
        return self._json.is_done

    @property
    def unread(self) -> str:
        """Text that is not part of the value."""
        return self._text[self._at :]

    def push(self, text: str) -> str:
        """Add text and return the JSON that it adds. Must not be called once the value is done or broken."""
        self._text, self._at = self.unread + text, 0
        written = list[str]()
        while self._at < len(self._text) and not self.is_done and not self.is_broken:
            begun = self._at
            piece = self._in_string() if self._quote else self._outside()
            if piece is None:
                break
            written.append(self._checked(piece, begun))
        return "".join(written)

    def _checked(self, piece: str, begun: int) -> str:
        """Return the JSON of a piece, which was read from the position `begun` on."""
        tokens = list(self._json.tokens(piece))
        if self._json.is_broken or (self.is_done and self._json.unread):
            # The piece is not part of the value.
            self.is_broken, self._at = self._json.is_broken, begun
        spaced = (token.text + " " if token.kind in ("comma", "colon") else token.text for token in tokens)
        return "".join(text for text, token in zip(spaced, tokens, strict=True) if token.kind != "space")

    def _outside(self) -> str | None:
        """Return the JSON of the next part outside of strings; None if the part is incomplete."""
        raw, rest = self._notation.raw_quote, self._text[self._at : self._at + len(self._notation.raw_quote)]
        if raw and raw.startswith(rest):
            return self._begin_string(raw) if rest == raw else None
        if self._text[self._at] in self._notation.quotes:
            return self._begin_string(self._text[self._at])
        if (space := _SPACE.match(self._text, self._at)) is not None:
            self._at = space.end()
            return " "
        if (word := _WORD.match(self._text, self._at)) is not None:
            return self._word(word)
        self._at += 1
        return self._text[self._at - 1]

    def _begin_string(self, quote: str) -> str:
        self._quote = quote
        self._at += len(quote)
        return '"'

    def _word(self, word: re.Match[str]) -> str | None:
        """Return a key without quotes, or a word that is a value. Another character must follow."""
        following = self._text[word.end() : word.end() + 1]
        if not following and len(word[0]) <= LONGEST_SCALAR:
            return None
        self._at = word.end()
        if self._notation.has_bare_keys and following == ":":
            return json.dumps(word[0], ensure_ascii=False)
        if _NUMBER_IN_GROUPS.fullmatch(word[0]) is not None:
            return word[0].replace("_", "")
        # A word that is no scalar of JSON ends the value, also where a part of the word is one.
        return _JSON_WORDS.get(word[0], word[0] if _SCALAR.fullmatch(word[0]) is not None else _INVALID)

    def _in_string(self) -> str | None:
        """Return the JSON of the next part of a string; None if the part is incomplete."""
        quote, text = self._quote, self._text
        if text.startswith(quote, self._at):
            return self._end_string(quote)
        if quote != self._notation.raw_quote and text[self._at] == "\\":
            return self._escape()
        end = text.find(quote, self._at)
        if end < 0:
            end = len(text) - _begun(text, self._at, quote)
        if quote != self._notation.raw_quote and (escape := text.find("\\", self._at, end)) >= 0:
            end = escape
        if end == self._at:
            return None
        plain, self._at = text[self._at : end], end
        return json.dumps(plain, ensure_ascii=False)[1:-1]

    def _end_string(self, quote: str) -> str | None:
        """End the string, unless the quote is a part of it. Return None if the text behind the quote must tell."""
        following = self._text[self._at + len(quote) : self._at + len(quote) + _MOST_SPACE]
        is_raw, begun = quote == self._notation.raw_quote, following.lstrip()
        if not is_raw and not begun and len(following) < _MOST_SPACE:
            return None
        self._at += len(quote)
        if not is_raw and begun and begun[0] not in _AFTER_STRING:
            return json.dumps(quote)[1:-1]
        self._quote = ""
        return '"'

    def _escape(self) -> str | None:
        found = _ESCAPE.match(self._text, self._at)
        is_half = found is not None and _HALF.fullmatch(found[0]) is not None
        # The first half of a surrogate pair waits for the second one.
        if (found is None or is_half) and len(self._text) - self._at < _LONGEST_ESCAPE:
            return None
        if found is None or is_half:
            return _INVALID
        self._at = found.end()
        return json.dumps(_decoded(found[0]), ensure_ascii=False)[1:-1]


def _begun(text: str, start: int, quote: str) -> int:
    """Return the length of the longest suffix of `text`, from `start` on, that may begin `quote`."""
    longest = min(len(quote) - 1, len(text) - start)
    return next((size for size in range(longest, 0, -1) if quote.startswith(text[-size:])), 0)


def _decoded(escape: str) -> str:
    """Return the text of an escape. A backslash before another character stands for itself."""
    if escape[1] == "u":
        decoded: str = json.loads(f'"{escape}"')
        return decoded
    if escape[1] in "Ux":
        code = int(escape[2:], 16)
        return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"
    if escape[1] in "\\'\"":
        return escape[1]
    return _NAMED.get(escape[1], escape)
