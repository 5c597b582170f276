"""Statistics of the benchmarks: small, pure, and robust on short samples."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.observability.percentiles import percentile


def median(values: Sequence[float]) -> float:
    """Return the middle value, or the mean of the middle two. Raise ValueError if there are no values."""
    return percentile(values, 50)


@dataclass(frozen=True, slots=True)
class Spread:
    """Summary of a sample, in the unit of its values."""

    count: int
    median: float
    p95: float
    p99: float
    low: float
    high: float


def spread(values: Sequence[float]) -> Spread:
    """Summarize the values. Raise ValueError if there are none."""
    return Spread(len(values), median(values), percentile(values, 95), percentile(values, 99), min(values), max(values))


def share(flags: Sequence[bool]) -> float:
    """Return the share of true flags, from 0 to 1.

    Raise ValueError if there are no flags, because a share of nothing would read as a result.
    """
    if not flags:
        raise ValueError("there are no flags to take a share of")
    return sum(flags) / len(flags)


def ratio(over: float, under: float) -> float | None:
    """Return `over` divided by `under`, or None if `under` is zero.

    A client that read late sees several tokens at once, with gaps of zero.
    """
    return over / under if under else None
