"""What the engine counts about itself: plain numbers, for /metrics and the log."""

from dataclasses import dataclass, field

from cache_tiers.histogram import Histogram
from cache_tiers.store import StoreStats
from engine.executor.workers import WorkersState


@dataclass(frozen=True, slots=True)
class EngineStats:
    """Now: running, waiting, loading, following, blocks. Since the start: the rest. Times in seconds.

    preempted: those of the waiting that ran before. preemptions: running requests that were stopped for lack of blocks;
    reclaims: waiting ones that lost the blocks that had been restored for them. rebuilds: schedulers that failed and
    were replaced. queue_seconds: by what came
    of the wait, "served" if there was a token, else the finish reason.
    *_tokens: prompt tokens by where their KV came from, counted when their request ends; prefilled_tokens: those that
    were computed, counted as they are. tiers: None if nothing lies below the device.
    unstored_blocks: full blocks that the CPU tier has not taken yet; stores_refused: for lack of room.
    asked_tokens: prompt tokens that each tier could have had: those that none above it had.
    load_seconds: of loads that brought something, by the lowest tier that it came from. cpu_store_seconds: of each copy
    of a block down to the CPU tier. copied_up_blocks, copied_down_blocks: between CPU memory and the device.
    warmed_blocks: that came from Redis into CPU memory before anybody asked.
    evicted_blocks: of the device, that held a prefix until they were needed for something else; lost_blocks: those of
    them that still waited to be copied down. reuse_ends: requests for which the tiers did not have, or not give, the
    block behind what was reused, by the cause (`ReuseEnd`). checks: how often the
    owners of blocks checked themselves, by outcome: "clean" or "failed". drafted_tokens: computed because they might
    come (`engine.speculation`); accepted_tokens: those of them that came. device_tenants, cpu_tenants: bytes that the
    largest tenants and the others hold of these tiers, by name.
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
    stores_refused: bool = False
    rebuilds: int = 0
    asked_tokens: dict[str, int] = field(default_factory=dict)
    load_seconds: dict[str, Histogram] = field(default_factory=dict)
    cpu_store_seconds: Histogram = field(default_factory=Histogram.of_seconds)
    prefilled_tokens: int = 0
    copied_up_blocks: int = 0
    copied_down_blocks: int = 0
    warmed_blocks: int = 0
    evicted_blocks: int = 0
    lost_blocks: int = 0
    reuse_ends: dict[str, int] = field(default_factory=dict)
    drafted_tokens: int = 0
    accepted_tokens: int = 0
    device_tenants: dict[str, int] = field(default_factory=dict)
    cpu_tenants: dict[str, int] = field(default_factory=dict)
    workers: WorkersState | None = None
