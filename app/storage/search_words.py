"""Texts, queries and findings as the full-text index wants and gives them.

FTS5's tokenizer unicode61 finds words between what is no letter, folds case and takes accents away. Scripts that are
written without spaces would be one word per sentence; so each of their characters is made a word, and a run of them in
a query a phrase. The tokenizer trigram would not need that, but finds nothing shorter than three characters, and most
Chinese and Japanese words have two; it also knows no words, and its index is several times as large.
"""

import re
import unicodedata
from dataclasses import dataclass
from typing import Any

SEPARATOR = "\u200b"
"""No letter, and of no width."""
MATCH_BEGINS, MATCH_ENDS = "\ufdd0", "\ufdd1"
"""Noncharacters of Unicode: no text that is indexed holds them."""

LEAST_PREFIX = 2
"""Letters of a last word that may be the beginning of a longer one: of a single one there would be too many."""

_UNSPACED = (
    "\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
"""Han, Kana and Hangul."""
_BEFORE_OR_AFTER_UNSPACED = re.compile(f"(?<=[{_UNSPACED}])(?=.)|(?<=.)(?=[{_UNSPACED}])", re.DOTALL)
_MARKS = re.compile(f"[{MATCH_BEGINS}{MATCH_ENDS}]")
_FOUND = re.compile(f"{MATCH_BEGINS}([^{MATCH_ENDS}]*){MATCH_ENDS}")


def segmented(text: str) -> str:
    """`text` with a separator on both sides of each character that is a word."""
    if text.isascii():
        return text
    return _BEFORE_OR_AFTER_UNSPACED.sub(SEPARATOR, _MARKS.sub("", unicodedata.normalize("NFC", text)))


def match_expression(query: str) -> str | None:
    """The FTS5 expression of what a person typed: all of it must occur, its last word may go on. None: no word in it.

    Every piece becomes a string of that language, in which nothing but the quote has a meaning.
    """
    pieces = [piece for piece in query.replace("\0", " ").split() if any(map(str.isalnum, piece))]
    if not pieces:
        return None
    goes_on = not query[-1:].isspace() and len(pieces[-1]) >= LEAST_PREFIX
    phrases = ['"' + segmented(piece).replace('"', '""') + '"' for piece in pieces]
    return " AND ".join(phrases) + ("*" if goes_on else "")


@dataclass(frozen=True, slots=True)
class Snippet:
    """matches: (start, end) of each found piece in `text`, in UTF-16 code units, as JavaScript counts."""

    text: str
    matches: tuple[tuple[int, int], ...]

    @classmethod
    def parse(cls, marked: str) -> "Snippet":
        """What FTS5 made, with the two marks."""
        plain = marked.replace(SEPARATOR, "")
        pieces, matches, at, seen = list[str](), list[tuple[int, int]](), 0, 0
        for found in _FOUND.finditer(plain):
            pieces += (plain[seen : found.start()], found[1])
            start = at + _utf16_length(pieces[-2])
            at, seen = start + _utf16_length(found[1]), found.end()
            matches.append((start, at))
        return cls("".join(pieces) + plain[seen:], tuple(matches))

    def to_json(self) -> dict[str, Any]:
        """What clients see."""
        return {"text": self.text, "matches": [list(match) for match in self.matches]}


def _utf16_length(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
