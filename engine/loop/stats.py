"""Statistics of the engine as plain numbers, for /metrics and the log."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

from cache_tiers.histogram import Histogram
from cache_tiers.store import StoreStats
from cache_tiers.tier import TierId
from engine.api.role import Role
from engine.executor.workers import WorkersState


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
class EngineStats:
    """Snapshot of the engine. Times are in seconds.

    running, waiting, loading, following, preempted and blocks_* are current values. All others count since the start.

    following: requests that wait for another one to compute a shared prefix.
    preempted: waiting requests that ran before.
    preemptions: running requests that were stopped for lack of blocks.
    reclaims: waiting requests that lost the blocks restored for them.
    rebuilds: schedulers that failed and were replaced.
    reused_tokens: prompt tokens by the tier that had their KV, counted when their request ends.
    computed_tokens: prompt tokens whose KV was computed, counted when their request ends.
    prefilled_tokens: prompt tokens computed, counted as they are computed.
    unstored_blocks: full blocks that are not in the CPU tier yet: they wait, or are being copied.
    stores_refused: the CPU tier has no room for them.
    checks: self-checks of the owners of blocks, by outcome: "clean" or "failed".
    queue_seconds: time in the queue, by outcome: "served" if a token or an embedding was produced, else the finish
        reason.
    tiers: None without a tier below the device.
    asked_tokens: prompt tokens looked up in each tier, because no tier above had them.
    load_seconds: duration of loads that restored KV, by the lowest tier involved.
    cpu_store_seconds: duration of each copy of a block to the CPU tier.
    copied_up_blocks: blocks copied from CPU memory to the device.
    copied_down_blocks: blocks copied from the device to CPU memory.
    warmed_blocks: blocks prefetched from lower tiers into CPU memory before a request needed them.
    evicted_blocks: device blocks that held a prefix until they were reallocated.
    lost_blocks: evicted blocks that were still waiting to be copied down.
    reuse_ends: requests for which the tiers did not have, or did not deliver, the block after the reused prefix, by
        cause (`MissReason`).
    drafted_tokens: tokens verified as guesses (`engine.speculation`).
    accepted_tokens: guesses that were right.
    embeddings: embeddings that were computed.
    device_tenants: bytes on the device by tenant, for the largest tenants by name and the others together.
    cpu_tenants: the same for the CPU tier.
    workers: None if the worker is in this process.
    replicas: empty if the engine is in this process. Otherwise the other figures are sums over all replicas.
    routes: None if the engine is in this process.
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
    reused_tokens: Counter[TierId]
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
    asked_tokens: Counter[TierId] = field(default_factory=Counter)
    load_seconds: dict[TierId, Histogram] = field(default_factory=dict)
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
    embeddings: int = 0
    device_tenants: dict[str, int] = field(default_factory=dict)
    cpu_tenants: dict[str, int] = field(default_factory=dict)
    workers: WorkersState | None = None
    replicas: tuple[ReplicaState, ...] = ()
    routes: RouteStats | None = None

    @property
    def blocks_of_one_engine(self) -> int:
        """Size of the block pool that one request can use."""
        return self.blocks_total // max(1, sum(each.state == "ok" for each in self.replicas))
