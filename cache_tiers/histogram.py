"""Histograms for /metrics."""

from bisect import bisect_left
from dataclasses import dataclass, field


@dataclass(slots=True)
class Histogram:
    """Number of values per bucket since the start.

    `counts[i]` counts the values in (bounds[i - 1], bounds[i]]. The last bucket has no upper bound.
    """

    bounds: tuple[float, ...]
    counts: list[int] = field(default_factory=list)
    total: float = 0.0

    def __post_init__(self) -> None:
        self.counts = self.counts or [0] * (len(self.bounds) + 1)

    @classmethod
    def of_seconds(cls) -> "Histogram":
        """Create a histogram of durations, with bounds from 0.1 ms to 60 s."""
        return cls((0.0001, 0.0003, 0.001, 0.003, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 15.0, 60.0))

    @classmethod
    def of_counts(cls) -> "Histogram":
        """Create a histogram of counts, with powers of two from 1 to 1024 as bounds."""
        return cls(tuple(float(1 << i) for i in range(11)))

    def copy(self) -> "Histogram":
        """Return an independent copy of the current state."""
        copied = Histogram(self.bounds)
        copied.counts, copied.total = list(self.counts), self.total
        return copied

    def observe(self, value: float) -> None:
        """Add a value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def add(self, other: "Histogram") -> None:
        """Add the values of a histogram with the same bounds."""
        self.counts = [mine + its for mine, its in zip(self.counts, other.counts, strict=True)]
        self.total += other.total

    @property
    def count(self) -> int:
        """Number of observed values."""
        return sum(self.counts)
