"""Texts and queries as the full-text index takes them.

FTS5's tokenizer unicode61 finds words between separators, folds case and removes accents. Scripts that are written
without spaces would be one word per sentence. So each of their characters is made a word, and a run of them in a query
a phrase. The tokenizer trigram would not need that, but finds nothing shorter than three characters, and most Chinese
and Japanese words have two. The index would also be larger.
"""

import re
import unicodedata

SEPARATOR = "\u200b"
"""A zero-width space: no letter, and invisible."""

LEAST_PREFIX = 2
"""Minimum length of a last word that also matches longer words. A single letter would match too many."""

PIECE_CHARACTERS = 4096
"""Number of characters after which other threads may run. In one piece, a long text would hold the GIL for too long."""

UNSPACED = (
    "\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
"""Han, Kana and Hangul, as a range of a regular expression."""

_BEGINS_WORD = "\\s\u1100-\u115f\u3041-\u3096\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
"""Characters before which a text may be cut: a word ends there, and none of them is composed with the one before."""
_PIECE = re.compile(
    f".{{1,{PIECE_CHARACTERS}}}(?=[{_BEGINS_WORD}]|\\Z)|.{{1,{PIECE_CHARACTERS}}}",
    re.DOTALL,
)
MAX_MARKS = 30
"""Combining marks in a row that are kept: the bound of the Stream-Safe Text Format (UAX 15, section 13).

Composition sorts a run of marks, which takes the square of its length. No language needs more than a few.
"""

# A mark is no letter, digit or space. The pattern also finds other runs, of which no character is dropped.
_LONG_RUN = re.compile(rf"[^\w\s\0-\x7f]{{{MAX_MARKS + 1},}}")
_RUN = re.compile(f"[{UNSPACED}]+")


def segmented(text: str) -> str:
    """Put a separator on both sides of each character that is a word by itself.

    The work is done in pieces, between which the interpreter lets other threads run.
    """
    if text.isascii():
        return text
    return "".join(_segmented_piece(piece[0]) for piece in _PIECE.finditer(text)).strip(SEPARATOR)


def _segmented_piece(piece: str) -> str:
    if piece.isascii():
        return piece
    return _RUN.sub(_separated, composed(piece))


def composed(text: str) -> str:
    """Return the composed form of a text (NFC), without the combining marks beyond MAX_MARKS in a row."""
    return unicodedata.normalize("NFC", _LONG_RUN.sub(_without_excess_marks, text))


def _without_excess_marks(run: re.Match[str]) -> str:
    kept, marks = list[str](), 0
    for character in run[0]:
        marks = marks + 1 if unicodedata.category(character).startswith("M") else 0
        if marks <= MAX_MARKS:
            kept.append(character)
    return "".join(kept)


def _separated(run: re.Match[str]) -> str:
    return f"{SEPARATOR}{SEPARATOR.join(run[0])}{SEPARATOR}"


def query_pieces(query: str) -> list[str]:
    """Split `query` where a person put spaces, without pieces that hold no letter or digit."""
    return [piece for piece in query.replace("\0", " ").split() if any(map(str.isalnum, piece))]


def may_be_unfinished(query: str) -> bool:
    """Return whether the last piece of `query` may be the beginning of a longer word."""
    pieces = query_pieces(query)
    return bool(pieces) and not query[-1:].isspace() and len(pieces[-1]) >= LEAST_PREFIX
