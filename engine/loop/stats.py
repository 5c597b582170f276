"""Statistics of the engine as plain numbers, for /metrics and the log."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from cache_tiers.histogram import Histogram
from cache_tiers.owners.block_key import Owner
from cache_tiers.owners.owners import OTHERS, Owners
from cache_tiers.registry import all_tiers
from cache_tiers.store import StoreStats
from cache_tiers.tier import TierId
from engine.api.role import Role
from engine.executor.workers import WorkersState
from engine.offload.reuse_notes import ReuseStats
from engine.speculation.guess import DraftSource


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaState:
    """State of one replica of the engine.

    state: "failed" means that the replica was lost too often, and is not restarted for some minutes.
    epoch: number of its newest start, counted over all replicas.
    machine: name of the machine where it runs, or ran last; None before its first start.
    pid: process id there; None while there is no process.
    answers: answers that it computes or was asked to compute.
    restarts: restarts so far.
    last_loss: cause of its last loss, as a sentence; empty if there was none.
    role: part of the answers that it computes.
    prefilled_tokens: prompt tokens that its process has computed.
    serves_as: part of the answers that it computes now: "both" while no replica of the other role serves.
    """

    index: int
    state: Literal["starting", "ok", "failed"]
    epoch: int
    machine: str | None
    pid: int | None
    answers: int
    restarts: int
    last_loss: str
    role: Role = "both"
    prefilled_tokens: int = 0
    serves_as: Role = "both"


@dataclass(frozen=True, slots=True)
class RouteStats:
    """Counts of the requests that were sent to replicas, since the start.

    reasons: requests by the reason for their replica (`engine.fleet.routing.router`).
    takeovers: answers that a replica continued after another one was lost or drained.
    predicted_seconds, seen_seconds: from the choice of the replica to the first token, of the same requests.
    hand_overs: answers that one replica began and another one continued, because of their roles.
    """

    reasons: dict[str, int]
    takeovers: int
    predicted_seconds: Histogram
    seen_seconds: Histogram
    hand_overs: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestStats:
    """Requests: those that are here now, and those of the past.

    running, waiting, loading: in these states now.
    following: requests that wait now for another one to compute a shared prefix.
    preempted: waiting requests that ran before.
    finished: requests that ended, by finish reason.
    preemptions: running requests that were stopped for lack of blocks.
    reclaims: waiting requests that lost the blocks restored for them.
    embeddings: embeddings that were computed.
    ttft_seconds: time to the first token.
    queue_seconds: time in the queue, by outcome: "served" if a token or an embedding was produced, else the finish
        reason.
    inter_token_seconds: time between two tokens of a request.
    """

    running: int = 0
    waiting: int = 0
    loading: int = 0
    following: int = 0
    preempted: int = 0
    finished: dict[str, int] = field(default_factory=dict)
    preemptions: int = 0
    reclaims: int = 0
    embeddings: int = 0
    ttft_seconds: Histogram = field(default_factory=Histogram.of_seconds)
    queue_seconds: dict[str, Histogram] = field(default_factory=dict)
    inter_token_seconds: Histogram = field(default_factory=Histogram.of_seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenStats:
    """Tokens of prompts and answers.

    asked: prompt tokens looked up in each tier, because no tier above had them.
    reused: prompt tokens by the tier that had their KV, counted when their request ends.
    computed: prompt tokens whose KV was computed, counted when their request ends.
    prefilled: prompt tokens computed, counted as they are computed.
    generated: tokens of answers.
    drafted: tokens verified as guesses (`engine.speculation`), by the source of the guess.
    accepted: guesses that were right, by their source.
    """

    asked: Counter[TierId] = field(default_factory=Counter)
    reused: Counter[TierId] = field(default_factory=Counter)
    computed: int = 0
    prefilled: int = 0
    generated: int = 0
    drafted: Counter[DraftSource] = field(default_factory=Counter)
    accepted: Counter[DraftSource] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepStats:
    """Steps, and the schedulers that made them.

    seconds: duration of a step.
    gap_seconds: time between two forward passes.
    batch_sizes: number of requests in a step.
    rebuilds: schedulers that failed and were replaced.
    """

    seconds: Histogram = field(default_factory=Histogram.of_seconds)
    gap_seconds: Histogram = field(default_factory=Histogram.of_seconds)
    batch_sizes: Histogram = field(default_factory=Histogram.of_counts)
    rebuilds: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockStats:
    """Blocks of the device pool.

    nbytes: size of one block.
    total: size of the pool.
    used: blocks that requests have now.
    cached: blocks that hold a prefix now.
    unstored: full blocks that are not in the CPU tier yet: they wait, or are being copied.
    evicted: blocks that held a prefix until they were reallocated.
    lost: evicted blocks that were still waiting to be copied down.
    tenants: bytes by tenant now, for the largest tenants by name and the others together.
    checks: self-checks of the owners of blocks, by outcome.
    """

    nbytes: int = 0
    total: int = 0
    used: int = 0
    cached: int = 0
    unstored: int = 0
    evicted: int = 0
    lost: int = 0
    tenants: dict[str, int] = field(default_factory=dict)
    checks: dict[str, int] = field(default_factory=lambda: {"clean": 0, "failed": 0})


@dataclass(frozen=True, slots=True, kw_only=True)
class TierStats:
    """Tiers below the device, and the copies between them.

    store: None without a tier below the device.
    stores_refused: whether the CPU tier has no room for blocks now.
    copied_up: blocks copied from CPU memory to the device.
    copied_down: blocks copied from the device to CPU memory.
    warmed: blocks prefetched from lower tiers into CPU memory before a request needed them.
    load_seconds: duration of loads that restored KV, by the lowest tier involved.
    cpu_store_seconds: duration of each copy of a block to the CPU tier.
    reuse_ends: requests for which the tiers did not have, or did not deliver, the block after the reused prefix, by
        cause (`MissReason`).
    cpu_tenants: bytes in the CPU tier by tenant now, as `BlockStats.tenants`.
    """

    store: StoreStats | None = None
    stores_refused: bool = False
    copied_up: int = 0
    copied_down: int = 0
    warmed: int = 0
    load_seconds: dict[TierId, Histogram] = field(default_factory=dict)
    cpu_store_seconds: Histogram = field(default_factory=Histogram.of_seconds)
    reuse_ends: dict[str, int] = field(default_factory=dict)
    cpu_tenants: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineStats:
    """Snapshot of the engine. Times are in seconds. Values that are not of this moment count since the start.

    workers: None if the worker is in this process.
    replicas: empty if the engine is in this process. Otherwise the other figures are sums over all replicas.
    routes: None if the engine is in this process.
    """

    requests: RequestStats = field(default_factory=RequestStats)
    tokens: TokenStats = field(default_factory=TokenStats)
    steps: StepStats = field(default_factory=StepStats)
    blocks: BlockStats = field(default_factory=BlockStats)
    tiers: TierStats = field(default_factory=TierStats)
    reuse: ReuseStats = field(default_factory=ReuseStats)
    workers: WorkersState | None = None
    replicas: tuple[ReplicaState, ...] = ()
    routes: RouteStats | None = None

    @property
    def blocks_of_one_engine(self) -> int:
        """Size of the block pool that one request can use."""
        return self.blocks.total // max(1, sum(each.state == "ok" for each in self.replicas))


MAX_NAMED: Final = 8


def tenant_bytes(held: Mapping[Owner, int], owners: Owners, block_nbytes: int) -> dict[str, int]:
    """Add up `held`, in blocks, by the names of the `MAX_NAMED` largest tenants and of all others together."""
    by_name: Counter[str] = Counter()
    for owner, blocks in held.items():
        by_name[owners.name(owner) or OTHERS] += blocks
    others = by_name.pop(OTHERS, 0)
    named = by_name.most_common(MAX_NAMED)
    others += by_name.total() - sum(blocks for _, blocks in named)
    if others:
        named.append((OTHERS, others))
    return {name: blocks * block_nbytes for name, blocks in named}


class StatsLog:
    """Differences between snapshots. Times are in seconds on one clock."""

    def __init__(self, interval: float, stats: EngineStats, now: float) -> None:
        self._interval = interval
        self._before = stats
        self._since = now

    def is_due(self, now: float) -> bool:
        """Return True if `interval` has passed since the last line."""
        return now - self._since >= self._interval

    def line(self, stats: EngineStats, now: float) -> str:
        """Describe what happened since the last line."""
        seconds, before = max(now - self._since, 1e-9), self._before
        self._before, self._since = stats, now
        generated = stats.tokens.generated - before.tokens.generated
        computed = stats.tokens.computed - before.tokens.computed
        reused = stats.tokens.reused - before.tokens.reused
        tiers = [(reused[tier.id], tier.name) for tier in all_tiers()]
        cached = ", ".join(f"{count} from {name}" for count, name in tiers if count) or "none cached"
        return (
            f"{stats.requests.running} running, {stats.requests.waiting} waiting, {stats.requests.loading} loading; "
            f"{generated / seconds:.0f} tokens/s generated; prompts: {computed} tokens computed, {cached}; "
            f"{stats.blocks.used} of {stats.blocks.total} blocks in use, {stats.blocks.cached} hold prefixes"
        )
