"""The statistics of the benchmarks: small, pure, without surprises on short samples."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.percentiles import percentile


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


def ratio(over: float, under: float) -> float | None:
    """Return `over` by `under`, or None where `under` is zero: a client that read late saw several tokens at once."""
    return over / under if under else None
