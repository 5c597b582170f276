"""Values sorted into buckets: for /metrics."""

from bisect import bisect_left
from dataclasses import dataclass, field


@dataclass(slots=True)
class Histogram:
    """Values since the start. `counts[i]` are those in (bounds[i - 1], bounds[i]]; the last has no upper bound."""

    bounds: tuple[float, ...]
    counts: list[int] = field(default_factory=list)
    total: float = 0.0

    def __post_init__(self) -> None:
        self.counts = [0] * (len(self.bounds) + 1)

    @classmethod
    def of_seconds(cls) -> "Histogram":
        """From 0.1 ms to a minute."""
        return cls((0.0001, 0.0003, 0.001, 0.003, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 15.0, 60.0))

    @classmethod
    def of_counts(cls) -> "Histogram":
        """Powers of two."""
        return cls(tuple(float(1 << i) for i in range(11)))

    def copy(self) -> "Histogram":
        """As it is now."""
        copied = Histogram(self.bounds)
        copied.counts, copied.total = list(self.counts), self.total
        return copied

    def observe(self, value: float) -> None:
        """Count one value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    @property
    def count(self) -> int:
        """How many values."""
        return sum(self.counts)
