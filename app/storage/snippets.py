"""Pieces of messages that show where the words of a query were found.

FTS5's own `snippet()` and `highlight()` take time quadratic in the number of matches, and cannot be interrupted. This
module instead scans a bounded number of characters in Python. Text is compared as the index compares it
(`app.storage.search_words`).
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise

from app.domain.attached_files import in_plain_words
from app.storage.search_words import FOLDED, UNSPACED, VOICING, Phrase, composed, is_unspaced, phrases_of

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

_SPACED = f"[^ {UNSPACED}]"


@dataclass(frozen=True, slots=True)
class Snippet:
    """A piece of a text.

    matches: (start, end) of each match in `text`, in UTF-16 code units, as JavaScript counts.
    """

    text: str
    matches: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class _Match:
    """A phrase that was found, at [start, end) of a chunk.

    kind: number of the phrase in the query.
    """

    start: int
    end: int
    kind: int


class SnippetMaker:
    """Maker of snippets for one query, with the query's words compiled to a pattern."""

    def __init__(self, query: str) -> None:
        patterns = dict.fromkeys(map(_pattern, phrases_of(query)))
        self._pattern = re.compile("|".join(f"({pattern})" for pattern in patterns)) if patterns else None

    def snippet(self, text: str, *, whole_length: int | None = None) -> Snippet:
        """Return a piece of `text` with matches of the query's words, or the beginning of `text` if there are none.

        The piece is from the first chunk with a match. There, it is the window with the most different words.

        whole_length: length in characters of the message that begins with `text`; None if `text` is the whole message.
        """
        whole_length = len(text) if whole_length is None else whole_length
        for at in range(0, max(len(text), 1), CHUNK - OVERLAP):
            chunk = _shown(text[at : at + CHUNK])
            if found := self._findings(chunk):
                return _cut(chunk, found, is_beginning=at == 0, is_end=at + CHUNK >= whole_length)
        return _cut(_shown(text[:CHUNK]), [], is_beginning=True, is_end=whole_length <= CHUNK)

    def _findings(self, chunk: str) -> list[_Match]:
        if self._pattern is None:
            return []
        folded = _FoldedText(chunk)
        found = list[_Match]()
        for match in self._pattern.finditer(folded.text):
            start, end = folded.place_of(match)
            found.append(_Match(start, end, match.lastindex or 0))
            if len(found) == MAX_FINDINGS:
                break
        return found


class _FoldedText:
    """Folded form of a composed text, and the place of each of its characters in the text."""

    def __init__(self, original: str) -> None:
        self._original = original
        self.text = original.translate(FOLDED)

    @cached_property
    def _starts(self) -> Sequence[int]:
        """Place in the folded text of each character of the original, and of its end."""
        # Each ASCII character is folded to one character.
        if self._original.isascii():
            return range(len(self._original) + 1)
        return list(accumulate((len(FOLDED[ord(each)]) for each in self._original), initial=0))

    def place_of(self, match: re.Match[str]) -> tuple[int, int]:
        """Return where the text is that was folded to a match. Marks after the last character belong to it."""
        start, end = match.span()
        after = bisect_right(self._starts, end) - 1
        return bisect_right(self._starts, start) - 1, after if self._starts[after] == end else after + 1


def _shown(text: str) -> str:
    """Return a part of a text as a snippet shows it."""
    return composed(in_plain_words(text).replace("\0", "\N{REPLACEMENT CHARACTER}"))


def _pattern(phrase: Phrase) -> str:
    """Return the pattern of a phrase in folded text."""
    parts = [_pattern_of_word(phrase.words[0])]
    for before, word in pairwise(phrase.words):
        is_touching = is_unspaced(before) or is_unspaced(word)
        parts += (" {0,8}" if is_touching else " {1,8}", _pattern_of_word(word))
    begin = "" if is_unspaced(phrase.words[0]) else f"(?<!{_SPACED})"
    if phrase.is_unfinished:
        return f"{begin}{''.join(parts)}{_SPACED}{{0,64}}"
    end = "" if is_unspaced(phrase.words[-1]) else f"(?!{_SPACED})"
    return begin + "".join(parts) + end


def _pattern_of_word(word: str) -> str:
    is_unmarked = is_unspaced(word) and word[-1] not in VOICING
    return f"{re.escape(word)}(?![{VOICING}])" if is_unmarked else re.escape(word)


def _cut(chunk: str, found: Sequence[_Match], *, is_beginning: bool, is_end: bool) -> Snippet:
    """Cut the snippet out of the chunk that contains the matches `found`."""
    kept = _best(found)
    start = max(0, kept[0].start - BEFORE) if kept else 0
    if start > 0:
        start = _gap_after(chunk, start, kept[0].start)
    end = min(len(chunk), start + CHARACTERS)
    if kept:
        end = min(len(chunk), max(end, kept[-1].end))
    if end < len(chunk):
        end = _gap_before(chunk, end, kept[-1].end if kept else start)
    before = "" if is_beginning and start == 0 else "…"
    after = "" if is_end and end == len(chunk) else "…"
    matches = list[tuple[int, int]]()
    for match in kept:
        begins = len(before) + _utf16_length(chunk[start : match.start])
        matches.append((begins, begins + _utf16_length(chunk[match.start : match.end])))
    return Snippet(before + chunk[start:end] + after, tuple(matches))


def _best(found: Sequence[_Match]) -> list[_Match]:
    """Return the matches in the first of the windows that hold the most different words."""
    best = list[_Match]()
    best_kinds = 0
    for index, first in enumerate(found):
        window = [each for each in found[index:] if each.end <= first.start + CHARACTERS - BEFORE] or [first]
        kinds = len({each.kind for each in window})
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


def _utf16_length(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
