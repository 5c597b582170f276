"""What the engine counts about itself: plain numbers, for /metrics and the log."""

from bisect import bisect_left
from dataclasses import dataclass, field

from cache_tiers.store import StoreStats


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

    def observe(self, value: float) -> None:
        """Count one value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    @property
    def count(self) -> int:
        """How many values."""
        return sum(self.counts)


@dataclass(frozen=True, slots=True)
class EngineStats:
    """Now: running, waiting, loading, following, blocks. Since the start: the rest. Times in seconds.

    preempted: those of the waiting that ran before. preemptions: running requests that were stopped for lack of blocks;
    reclaims: waiting ones that lost the blocks that had been restored for them. queue_seconds: by what came
    of the wait, "served" if there was a token, else the finish reason.
    *_tokens: prompt tokens by where their KV came from. tiers: None if nothing lies below the device.
    unstored_blocks: full blocks that the CPU tier has not taken yet. checks: how often the owners of blocks checked
    themselves, by outcome: "clean" or "failed".
    """

    running: int
    waiting: int
    loading: int
    following: int
    preempted: int
    blocks_total: int
    blocks_used: int
    blocks_cached: int
    block_nbytes: int
    preemptions: int
    reclaims: int
    requests_finished: dict[str, int]
    generation_tokens: int
    device_tokens: int
    cpu_tokens: int
    redis_tokens: int
    computed_tokens: int
    unstored_blocks: int
    checks: dict[str, int]
    step_seconds: Histogram
    gap_seconds: Histogram
    batch_sizes: Histogram
    ttft_seconds: Histogram
    queue_seconds: dict[str, Histogram]
    inter_token_seconds: Histogram
    tiers: StoreStats | None
