"""The statistics of the benchmarks: small, pure, without surprises on short samples."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise


def percentile(values: Sequence[float], q: float) -> float:
    """The q-th percentile (0 to 100) with linear interpolation, as numpy's default. Raises ValueError on no values."""
    if not values:
        raise ValueError("a percentile of no values")
    ordered = sorted(values)
    rank = (len(ordered) - 1) * q / 100
    low, high = math.floor(rank), math.ceil(rank)
    return ordered[low] + (ordered[high] - ordered[low]) * (rank - low)


def median(values: Sequence[float]) -> float:
    """The middle value, or the mean of the middle two. Raises ValueError on no values."""
    return percentile(values, 50)


@dataclass(frozen=True, slots=True)
class Spread:
    """A sample in a few numbers, in the unit of its values."""

    count: int
    median: float
    p95: float
    p99: float
    low: float
    high: float


def spread(values: Sequence[float]) -> Spread:
    """Raises ValueError on no values."""
    return Spread(len(values), median(values), percentile(values, 95), percentile(values, 99), min(values), max(values))


def share(flags: Sequence[bool]) -> float:
    """The part of `flags` that holds, 0 to 1. Raises ValueError on none: a share of nothing would read as a result."""
    if not flags:
        raise ValueError("a share of no flags")
    return sum(flags) / len(flags)


def steady_gaps(streams: Sequence[Sequence[float]]) -> list[float]:
    """Gaps between arrivals while every stream was producing: from the last first arrival to the first last arrival.

    streams: for each stream its arrival times, ascending, on one clock. What lies outside that window was measured with
    fewer streams, or beside another stream's prefill.
    """
    begin = max(times[0] for times in streams)
    end = min(times[-1] for times in streams)
    return [b - a for times in streams for a, b in pairwise(times) if a >= begin and b <= end]
