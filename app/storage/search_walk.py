"""The walk to the newest titles or messages that a search finds.

The walk begins with the rows that have the words, the newest first. If many of them do not meet the other conditions,
it asks for the rows in the chats that do, and if these are few tests their words instead. So a search costs time in
proportion to the smaller side: the rows with the words, or the rows of the chats. A search in a period leaves out the
numbers of other times.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from app.storage.search_rows import SearchRows
from app.storage.search_times import ranges_in_time
from app.storage.text_index import TextIndex

FIRST: Final = 3
"""Rows with the words that are read at first for each row of the result."""
GROWTH: Final = 8
"""Growth of the number of rows that are read next."""
MANY: Final = 1000
"""Rows with the words after which the chats are asked for."""
COST: Final = 16
"""Cost of a row of a chat, as a multiple of that of a row with the words. Chats that are asked for in vain prolong a
search, so the number is higher than measured."""
TESTED: Final = 1000
"""Rows of chats whose words are tested at a time."""


def newest(index: TextIndex, query: str, rows: SearchRows, before: int, limit: int) -> list[int]:
    """Return the greatest `limit` numbers below `before` of rows with every word of `query`, the greatest first."""
    return list(islice(_found(index, query, rows, before, FIRST * limit), limit))


def _found(index: TextIndex, query: str, rows: SearchRows, before: int, first: int) -> Iterator[int]:
    read = 0
    for numbers in _with_words(index, query, rows, before, first):
        yield from rows.shown(numbers)
        read += len(numbers)
        if read < MANY:
            continue
        others = rows.in_chats(numbers[-1], read // COST)
        if others is not None:
            yield from _tested(index, query, rows, others)
            return


def _with_words(index: TextIndex, query: str, rows: SearchRows, before: int, first: int) -> Iterator[list[int]]:
    whole = (range(before),)
    ranges = ranges_in_time(rows.connection, rows.within, before) if rows.kind == "message" else whole
    for numbers in ranges:
        yield from index.newest(
            rows.connection, query, tenant=rows.tenant, kind=rows.kind, numbers=numbers, first=first
        )


def _tested(index: TextIndex, query: str, rows: SearchRows, numbers: Sequence[int]) -> Iterator[int]:
    for start in range(0, len(numbers), TESTED):
        yield from rows.shown(index.among(rows.connection, query, numbers[start : start + TESTED]))
