"""Interface to the store that keeps blocks in host memory and below. Implemented by `cpu_store`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from cache_tiers.leak_check import LeakCheck
from cache_tiers.lower.link_speed import LinkSpeed
from cache_tiers.lower.misses import TierMiss
from cache_tiers.lower.promise import Promised, PromiseTerms
from cache_tiers.lower.tier import LowerTierStats
from cache_tiers.owners.block_key import BlockKey, Owner
from cache_tiers.tier import TierId


@dataclass(frozen=True, slots=True)
class HostSlot:
    """Position of a block in the CPU tier's pool; `offset` counts bytes from the start of the pool."""

    key: BlockKey
    offset: int


@dataclass(frozen=True, slots=True)
class PrefetchResult:
    """The longest run of the requested keys that is in host memory, verified and read-locked.

    slots: the run. Each slot must be passed to `release` exactly once.
    sources: for each slot, the tier that had its block when the prefetch began.
    lookup_seconds: time until the lower tiers reported which of the other keys they have; 0 if they were not asked.
    """

    slots: tuple[HostSlot, ...]
    sources: tuple[TierId, ...]
    lookup_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CPUTierStats:
    """Occupancy of the CPU tier: sizes in bytes, counts since the start.

    evicted_blocks: blocks that made room for others.
    lost_blocks: evicted blocks that no lower tier was known to have, without dropped ones. Always 0 without a lower
        tier.
    held_blocks: blocks in the tier, by owner.
    deferred_blocks: blocks in the tier that are not to be written to the lower tiers yet.
    dropped_blocks: deferred blocks that left the tier without being written.
    """

    used_bytes: int = 0
    capacity_bytes: int = 0
    evicted_blocks: int = 0
    lost_blocks: int = 0
    held_blocks: Mapping[Owner, int] = field(default_factory=dict)
    deferred_blocks: int = 0
    dropped_blocks: int = 0


@dataclass(frozen=True, slots=True)
class StoreStats:
    """Occupancy and health of the tiers below the device.

    lower: the tiers below CPU memory: those that are on, the nearest first, then those that are off.
    """

    cpu: CPUTierStats
    lower: Mapping[TierId, LowerTierStats]

    @property
    def pending_writes(self) -> int:
        """Blocks waiting to be written, over all lower tiers."""
        return sum(each.pending_writes for each in self.lower.values())


class KVTierStore(Protocol):
    """The tiers below the device. Calls come from the event loop's thread and return without waiting for a lower tier.

    `flush` is the exception: another thread calls it, and it blocks.
    """

    @property
    def pool(self) -> memoryview:
        """The whole host arena, writable, format 'B'; offsets of slots count from its start."""

    def reserve(self, keys: Sequence[BlockKey]) -> list[HostSlot]:
        """Reserve slots to write. Keys that are stored, being written or refused for lack of room are left out."""

    def contains(self, key: BlockKey) -> bool:
        """Return True if the CPU tier holds `key` and it is readable now."""

    def commit(self, keys: Sequence[BlockKey], *, deferred: bool = False) -> None:
        """Publish reserved slots whose bytes are complete, and begin to write them to the lower tiers.

        deferred: write the blocks only once `admit` or `write_deferred` begins to. They are lost if they leave host
            memory before. Without effect if blocks do not stay there.
        """

    @property
    def num_deferred(self) -> int:
        """Number of deferred blocks in host memory."""

    def admit(self, keys: Sequence[BlockKey]) -> None:
        """Write those of the blocks that are deferred."""

    def write_deferred(self) -> None:
        """Begin to write some of the deferred blocks, unless enough are being written."""

    def discard(self, keys: Sequence[BlockKey]) -> None:
        """Return reserved slots that were not written."""

    @property
    def keeps_in_cpu(self) -> bool:
        """Whether blocks stay in host memory. If False, they only pass through it."""

    @property
    def max_window(self) -> int:
        """Maximum number of keys in one prefetch."""

    def link_speed(self, keys: Sequence[BlockKey] = ()) -> LinkSpeed | None:
        """Return the speed of the link to the lower tier that the first of `keys` would be read from.

        Without keys, return the speed of the fastest link. Return None if no lower tier is available.
        """

    def num_known_below(self, keys: Sequence[BlockKey]) -> int:
        """Return the length of the leading run of `keys` that the lower tiers should hold, without asking them."""

    def place_below(self, key: BlockKey) -> TierId | None:
        """Return the lower tier that `key` would be read from, without asking any; None if none should hold it."""

    def look_up(self, keys: Sequence[BlockKey]) -> int:
        """Begin to look up the leading run of `keys` in the lower tiers. Return a handle for `poll_look_up`."""

    def poll_look_up(self, handle: int) -> int | None:
        """Return the length of the run, once; None while the lookup is in flight.

        The length is a hint: a later load may find fewer blocks.
        """

    def prefetch(self, keys: Sequence[BlockKey], *, lower: bool) -> int:
        """Begin to load the longest run of at most `max_window` keys into host memory. Return a handle for `poll`.

        lower: whether to ask the lower tiers for blocks that are not in host memory.
        """

    def poll(self, handle: int) -> PrefetchResult | None:
        """Return the result, once; None while the prefetch is in flight. A fault in a tier only shortens the run."""

    def miss_of(self, key: BlockKey) -> TierMiss:
        """Return why the lower tiers did not deliver `key`, at which its last lookup or prefetch ended."""

    def source_of(self, key: BlockKey) -> TierId:
        """Return the lower tier from which a block in host memory was last loaded."""

    def release(self, keys: Sequence[BlockKey]) -> None:
        """Unlock slots that `poll` returned."""

    def touch(self, chain: Sequence[BlockKey], num_found: int, marked: range) -> None:
        """Mark a request's block chain as recently used in every tier. The first `num_found` blocks were cache hits.

        marked: indices of the blocks that the client marked for caching.
        """

    def clear_cpu(self) -> bool:
        """Drop all blocks in host memory. Return False if some stay because they are being read or written.

        A block can stay locked for a moment after it has arrived in a lower tier.
        """

    def protect(self, chain: Sequence[BlockKey]) -> None:
        """Protect the chain that a request is about to use from being evicted first."""

    def write_missed(self, *, begin: bool) -> bool:
        """Write blocks that are still in host memory and did not reach a lower tier while it was unavailable.

        begin: start on further blocks. If False, only continue with those being written.

        Return False if no such block is left and none can appear soon.
        """

    def erase(self, keys: Sequence[BlockKey]) -> list[BlockKey]:
        """Remove blocks from host memory, then from the lower tiers, which `poll_erased` reports.

        Return the blocks that are being read or written, which stay in all tiers.
        """

    def poll_erased(self) -> list[tuple[Sequence[BlockKey], bool]]:
        """Return, once, which blocks of `erase` were removed from all lower tiers, and which could not be.

        Blocks that no call has returned as busy are reported later, or by the next call.
        """

    def promise(self, keys: Sequence[BlockKey], terms: PromiseTerms) -> int:
        """Have a lower tier keep the leading run of `keys` that it has. Return a handle for `poll_promise`.

        A block that the tier lacks is written again if it is in host memory.
        """

    def poll_promise(self, handle: int) -> Promised | None:
        """Return the tier's answer, once; None while it is not known."""

    def abandon(self) -> list[int]:
        """Take back every slot and lock from a user whose own records are in doubt. No copy may be in flight.

        Return the handles of prefetches whose result was not taken. The caller must poll them.
        """

    def stats(self) -> StoreStats:
        """Return the current statistics. The call is cheap: it happens once a second and for every /metrics request."""

    def leak_check(self) -> LeakCheck:
        """Check that each lock and each reserved slot has an owner, while no prefetch and no copy is in flight."""

    def flush(self, timeout: float) -> bool:
        """Block until the lower tiers have received and erased all they should, deferred blocks included.

        Return False after `timeout` seconds.

        Must not be called from the loop's thread.
        """

    def close(self) -> None:
        """Stop every thread. No method may be called afterwards."""
