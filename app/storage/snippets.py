"""Pieces of messages that show where the words of a query were found.

FTS5's own `snippet()` and `highlight()` take time quadratic in the number of matches, and cannot be interrupted. This
module instead scans a bounded number of characters in Python. Text is compared as the index compares it: case and
accents are ignored, and each character of an unspaced script is a word.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from app.storage.search_words import UNSPACED, composed, may_be_unfinished, query_pieces

CHARACTERS = 200
"""Approximate length of a snippet, which begins and ends between two words."""
BEFORE = 40
"""Characters of a snippet before its first match."""
SLACK = 20
"""Number of characters to search for a gap between two words."""
MAX_FINDINGS = 64
"""Number of matches among which the best window is chosen."""
CHUNK = 4096
OVERLAP = 512
"""Characters that two chunks share, so that a phrase across their boundary is found."""

_WORD = "[^\\W_]"
_SPACED = f"[^\\W_{UNSPACED}]"
_TOKEN = re.compile(f"[{UNSPACED}]|{_SPACED}+")


@dataclass(frozen=True, slots=True)
class Snippet:
    """A piece of a text.

    matches: (start, end) of each match in `text`, in UTF-16 code units, as JavaScript counts.
    """

    text: str
    matches: tuple[tuple[int, int], ...]


class SnippetMaker:
    """Maker of snippets for one query, with the query's words compiled to a pattern."""

    def __init__(self, query: str) -> None:
        is_unfinished = may_be_unfinished(query)
        pieces = [_TOKEN.findall(_folded(composed(piece))) for piece in query_pieces(query)]
        phrases = [
            _phrase(tokens, is_prefix=is_unfinished and index == len(pieces) - 1)
            for index, tokens in enumerate(pieces)
            if tokens
        ]
        self._pattern = re.compile("|".join(f"({phrase})" for phrase in dict.fromkeys(phrases))) if phrases else None

    def snippet(self, text: str, *, whole_length: int | None = None) -> Snippet:
        """Return a piece of `text` with matches of the query's words, or the beginning of `text` if there are none.

        The piece is from the first chunk with a match. There, it is the window with the most different words.

        whole_length: length in characters of the message that begins with `text`; None if `text` is the whole message.
        """
        whole_length = len(text) if whole_length is None else whole_length
        for at in range(0, max(len(text), 1), CHUNK - OVERLAP):
            chunk = composed(text[at : at + CHUNK])
            if found := self._findings(chunk):
                return _cut(chunk, found, is_beginning=at == 0, is_end=at + CHUNK >= whole_length)
        return _cut(composed(text[:CHUNK]), [], is_beginning=True, is_end=whole_length <= CHUNK)

    def _findings(self, chunk: str) -> list[re.Match[str]]:
        if self._pattern is None:
            return []
        found = list[re.Match[str]]()
        for match in self._pattern.finditer(_folded(chunk)):
            found.append(match)
            if len(found) == MAX_FINDINGS:
                break
        return found


def _phrase(tokens: Sequence[str], *, is_prefix: bool) -> str:
    """Return the pattern of consecutive words."""
    parts = [re.escape(tokens[0])]
    for before, token in pairwise(tokens):
        touching = _is_unspaced(before) or _is_unspaced(token)
        parts += ("[\\W_]{0,8}" if touching else "[\\W_]{1,8}", re.escape(token))
    begin = "" if _is_unspaced(tokens[0]) else f"(?<!{_SPACED})"
    end = "" if is_prefix or _is_unspaced(tokens[-1]) else f"(?!{_SPACED})"
    if is_prefix and not _is_unspaced(tokens[-1]):
        end = f"{_SPACED}{{0,64}}"
    return begin + "".join(parts) + end


def _is_unspaced(token: str) -> bool:
    return re.match(f"[{UNSPACED}]", token) is not None


def _cut(chunk: str, found: Sequence[re.Match[str]], *, is_beginning: bool, is_end: bool) -> Snippet:
    """Cut the snippet out of the chunk that contains the matches `found`."""
    kept = _best(found)
    start = max(0, kept[0].start() - BEFORE) if kept else 0
    if start > 0:
        start = _gap_after(chunk, start, kept[0].start())
    end = min(len(chunk), start + CHARACTERS)
    if kept:
        end = min(len(chunk), max(end, kept[-1].end()))
    if end < len(chunk):
        end = _gap_before(chunk, end, kept[-1].end() if kept else start)
    before = "" if is_beginning and start == 0 else "…"
    after = "" if is_end and end == len(chunk) else "…"
    matches = list[tuple[int, int]]()
    for match in kept:
        begins = len(before) + _utf16_length(chunk[start : match.start()])
        matches.append((begins, begins + _utf16_length(chunk[match.start() : match.end()])))
    return Snippet(before + chunk[start:end] + after, tuple(matches))


def _best(found: Sequence[re.Match[str]]) -> list[re.Match[str]]:
    """Return the matches in the first of the windows that hold the most different words."""
    best = list[re.Match[str]]()
    best_kinds = 0
    for index, first in enumerate(found):
        window = [each for each in found[index:] if each.end() <= first.start() + CHARACTERS - BEFORE] or [first]
        kinds = len({each.lastindex for each in window})
        if kinds > best_kinds:
            best, best_kinds = window, kinds
    return best


def _gap_after(chunk: str, start: int, most: int) -> int:
    gap = re.compile("\\s").search(chunk, start, min(start + SLACK, most))
    return gap.end() if gap is not None else start


def _gap_before(chunk: str, end: int, least: int) -> int:
    for place in range(end, max(end - SLACK, least), -1):
        if chunk[place - 1].isspace():
            return place - 1
    return end


def _folded(chunk: str) -> str:
    """Return `chunk` without case and accents, character for character."""
    return chunk.lower() if chunk.isascii() else "".join(map(_folded_character, chunk))


@lru_cache(maxsize=8192)
def _folded_character(character: str) -> str:
    if _is_unspaced(character):
        return character
    lower = unicodedata.normalize("NFD", character)[0].lower()
    return lower if len(lower) == 1 else character


def _utf16_length(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
