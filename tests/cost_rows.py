"""Measurement of the growth of costs: the least CPU time of a parser at one size of its input and at four times it."""

import gc
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from typing import Any, Final

import pytest

from engine.api.errors import EbbError

TIMES: Final = 5
"""Measurements of a size. The least one has the fewest disturbances."""

MOST_GROWTH: Final = 8.0
"""Accepted growth of the time when the input becomes four times as large. A square would be 16."""

TRIES: Final = 3
"""Measurements of a ratio that is too high."""

LEAST_SECONDS: Final = 0.0005
"""Times below this one count as this one: they are noise."""


@dataclass(frozen=True)
class CostRow:
    """An input that strangers send, and the function that reads it.

    make: returns an input of about the given size.
    read: reads the input. A refusal is a valid end.
    size: size of the smaller input in `make test`.
    full: size of the smaller input with `--size full`.
    refusals: errors besides Ebb's own with which `read` may refuse the input.
    """

    name: str
    make: Callable[[int], Any]
    read: Callable[[Any], object]
    size: int
    full: int
    refusals: tuple[type[Exception], ...] = (ValueError,)


def for_each(rows: Sequence[CostRow]) -> pytest.MarkDecorator:
    """Run a test with each of the rows as `row`."""
    return pytest.mark.parametrize("row", rows, ids=[row.name for row in rows])


def repeated(text: str, before: str = "", after: str = "") -> Callable[[int], str]:
    """Return a maker of `text` as often as the size says, between two other texts."""
    return lambda size: before + text * size + after


def growth(row: CostRow, size: int) -> float:
    """Return the ratio of the CPU times at four times `size` and at `size`.

    The larger input is read until a ratio is at most MOST_GROWTH, and then no more: the least time can only be less.
    A ratio that stays above it is measured again: on a busy machine, other work may have emptied the caches.
    """
    for _ in range(TRIES):
        smaller = seconds(row, size)
        value = row.make(4 * size)
        for _ in range(TIMES):
            ratio = max(LEAST_SECONDS, _once(row, value)) / smaller
            if ratio <= MOST_GROWTH:
                return ratio
    return inf


def seconds(row: CostRow, size: int) -> float:
    """Return the least CPU time of this thread for one input, in seconds, at least LEAST_SECONDS."""
    value = row.make(size)
    return max(LEAST_SECONDS, min(_once(row, value) for _ in range(TIMES)))


def _once(row: CostRow, value: Any) -> float:
    # A collection looks at objects of other tests too.
    gc.disable()
    try:
        began = time.thread_time()
        with suppress(EbbError, *row.refusals):
            row.read(value)
        return time.thread_time() - began
    finally:
        gc.enable()
