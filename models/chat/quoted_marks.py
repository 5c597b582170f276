"""Marks of tool calls that ordinary tokens spell: text about a mark, and not the mark itself.

A model writes a mark of its format as one token if its vocabulary has that token. The same characters in ordinary
tokens are a quotation, for example of a question whose control tokens were encoded as plain text. Text that is read for
calls has `BREAK` inside such a quotation, so that no parser takes it for a mark. The parser removes it.
"""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final

BREAK: Final = "\ufdd0"
"""A noncharacter of Unicode, meant for use inside a program. A model's own is replaced by U+FFFD."""


def without_breaks(text: str) -> str:
    """Return `text` as the model wrote it."""
    return text.replace(BREAK, "")


class QuotedMarks:
    """Finder of spelled marks in one answer, piece by piece. No text is held back: the break precedes a mark's end."""

    def __init__(self, marks: Iterable[str]) -> None:
        self._marks = tuple(marks)
        self._last = frozenset(mark[-1] for mark in self._marks)
        self._longest = max(map(len, self._marks), default=1)
        self._before = ""

    def push(self, text: str) -> str:
        """Return a piece of ordinary text with a break before the last character of each mark that it completes."""
        text = text.replace(BREAK, "\ufffd")
        joined, begins = self._before + text, len(self._before)
        self._before = joined[len(joined) - self._longest + 1 :] if len(joined) >= self._longest else joined
        if self._last.isdisjoint(text):
            return text
        cuts = [begins, *sorted(set(self._ends(joined, begins))), len(joined)]
        return BREAK.join(joined[cut:end] for cut, end in pairwise(cuts))

    def end_stretch(self) -> None:
        """Note a mark that is one token. No spelled mark continues across it."""
        self._before = ""

    def _ends(self, text: str, begins: int) -> Iterator[int]:
        """Yield the position of the last character of each mark that ends at or after `begins`."""
        for mark in self._marks:
            at = text.find(mark, max(0, begins - len(mark) + 1))
            while at >= 0:
                yield at + len(mark) - 1
                at = text.find(mark, at + 1)


def begun(text: str, mark: str) -> int:
    """Return the length of the longest suffix of `text` that begins `mark` and is not all of it."""
    longest = min(len(mark) - 1, len(text))
    return next((size for size in range(longest, 0, -1) if mark.startswith(text[-size:])), 0)
