"""Interface to the store that keeps blocks in host memory and below. Implemented by `lmcache_store`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, Protocol

from cache_tiers.block_key import BlockKey, Owner
from cache_tiers.histogram import Histogram
from cache_tiers.link_speed import LinkSpeed

REDIS_TTL_SECONDS: Final = 7 * 24 * 3600
"""Time to live of an unused block in Redis."""


@dataclass(frozen=True, slots=True)
class HostSlot:
    """Position of a block in the CPU tier's pool; `offset` counts bytes from the start of the pool."""

    key: BlockKey
    offset: int


@dataclass(frozen=True, slots=True)
class PrefetchResult:
    """The longest run of the requested keys that is in host memory, verified and read-locked.

    slots: the run. Each slot must be passed to `release` exactly once.
    from_cpu: leading slots that were in host memory before.
    from_redis: slots after these that were fetched.
    lookup_seconds: time until Redis reported which of the other keys it has; 0 if it was not asked.
    """

    slots: tuple[HostSlot, ...]
    from_cpu: int
    from_redis: int
    lookup_seconds: float = 0.0


class TierMissReason(Enum):
    """Reason why Redis did not deliver a block."""

    OFF = "Redis is off"
    LEFT_ALONE = "Redis was skipped"
    NO_ANSWER = "Redis did not answer"
    GONE = "no longer in Redis: evicted, expired or deleted"
    UNKNOWN_KEY = "not in Redis: evicted, expired, deleted, or never written by a model with the same numerics"
    REJECTED = "the value in Redis was rejected"
    NOT_TAKEN = "the CPU tier had no room for the block"


@dataclass(frozen=True, slots=True)
class TierMiss:
    """An absence and its detail: further information in words, possibly empty."""

    absence: TierMissReason
    detail: str = ""


@dataclass(frozen=True, slots=True)
class StoreStats:
    """Occupancy and health: sizes in bytes, counts since the start.

    redis_state: "off", "ok" or the reason why Redis is not used.
    redis_rejects: blocks that were found but not used, by a keyword for the reason.
    redis_speed: measured speed of the link to Redis.
    redis_retry_seconds: time until Redis is tried again; 0 while it is used.
    redis_refusal: the error reply to the last write; empty if the write succeeded.
    redis_lookup_seconds: duration of each lookup of blocks.
    redis_store_seconds: duration of each write of a block.
    redis_evicted_keys: counted by the Redis server, including keys of other programs.
    redis_shed_blocks: failed blocks that found the write queue full.
    cpu_evicted_blocks: blocks that made room for others.
    cpu_lost_blocks: evicted blocks that Redis was not known to have. Always 0 without Redis.
    cpu_held_blocks: blocks in the CPU tier, by owner.
    """

    cpu_used_bytes: int
    cpu_capacity_bytes: int
    redis_state: str
    redis_used_bytes: int
    redis_capacity_bytes: int
    redis_pending_writes: int
    redis_write_lag_seconds: float
    redis_stored_blocks: int
    redis_failed_blocks: int
    redis_loaded_blocks: int
    redis_rejects: Mapping[str, int] = field(default_factory=dict)
    redis_speed: LinkSpeed = field(default_factory=LinkSpeed)
    redis_retry_seconds: float = 0.0
    redis_refusal: str = ""
    redis_lookup_seconds: Histogram = field(default_factory=Histogram.of_seconds)
    redis_store_seconds: Histogram = field(default_factory=Histogram.of_seconds)
    cpu_evicted_blocks: int = 0
    cpu_lost_blocks: int = 0
    redis_evicted_keys: int = 0
    redis_shed_blocks: int = 0
    cpu_held_blocks: Mapping[Owner, int] = field(default_factory=dict)

    @property
    def redis_rejected_blocks(self) -> int:
        """Rejected blocks, for all reasons together."""
        return sum(self.redis_rejects.values())


class KVTierStore(Protocol):
    """The tiers below the device. Every call comes from the event loop's thread and returns without waiting for Redis.

    `flush` is the exception: another thread calls it, and it blocks.
    """

    @property
    def pool(self) -> memoryview:
        """The whole host arena, writable, format 'B'; offsets of slots count from its start."""

    def reserve(self, keys: Sequence[BlockKey]) -> list[HostSlot]:
        """Reserve slots to write. Keys that are stored, being written or refused for lack of room are left out."""

    def contains(self, key: BlockKey) -> bool:
        """Return True if the CPU tier holds `key` and it is readable now."""

    def commit(self, keys: Sequence[BlockKey]) -> None:
        """Publish reserved slots whose bytes are complete, and begin to write them to Redis."""

    def discard(self, keys: Sequence[BlockKey]) -> None:
        """Return reserved slots that were not written."""

    @property
    def keeps_in_cpu(self) -> bool:
        """Whether blocks stay in host memory. If False, they only pass through it."""

    @property
    def max_window(self) -> int:
        """Maximum number of keys in one prefetch."""

    @property
    def redis_speed(self) -> LinkSpeed | None:
        """Speed of the link to Redis; None without Redis and while its breaker is open."""

    def num_known_in_redis(self, keys: Sequence[BlockKey]) -> int:
        """Return the length of the leading run of `keys` that Redis should hold, without asking Redis."""

    def look_up(self, keys: Sequence[BlockKey]) -> int:
        """Begin to look up the length of the leading run of `keys` in Redis. Return a handle for `poll_look_up`."""

    def poll_look_up(self, handle: int) -> int | None:
        """Return the length of the run, once; None while the lookup is in flight.

        The length is a hint: a later load may find fewer blocks.
        """

    def prefetch(self, keys: Sequence[BlockKey], *, redis: bool) -> int:
        """Begin to load the longest run of at most `max_window` keys into host memory. Return a handle for `poll`."""

    def poll(self, handle: int) -> PrefetchResult | None:
        """Return the result, once; None while the prefetch is in flight. A fault in a tier only shortens the run."""

    def miss_of(self, key: BlockKey) -> TierMiss:
        """Return why Redis did not deliver `key`, at which its last lookup or prefetch ended."""

    def release(self, keys: Sequence[BlockKey]) -> None:
        """Unlock slots that `poll` returned."""

    def touch(self, chain: Sequence[BlockKey], num_found: int) -> None:
        """Mark a request's block chain as recently used in every tier. The first `num_found` blocks were cache hits."""

    def clear_cpu(self) -> bool:
        """Drop all blocks in host memory. Return False if some stay because they are being read or written.

        A block that has arrived in Redis can be held for a moment longer.
        """

    def protect(self, chain: Sequence[BlockKey]) -> None:
        """Protect the chain that a request is about to use from being evicted first."""

    def write_missed(self, *, begin: bool) -> bool:
        """Write blocks that are still in host memory and did not reach Redis while it was unavailable.

        begin: start on further blocks. If False, only continue with those being written.

        Return False if no such block is left and none can appear soon.
        """

    def erase(self, keys: Sequence[BlockKey]) -> list[BlockKey]:
        """Remove blocks from host memory, then from Redis if it is available.

        Return the blocks that are being read or written, which stay in both tiers.
        """

    def abandon(self) -> list[int]:
        """Take back every slot and lock from a user whose own records are in doubt. No copy may be in flight.

        Return the handles of prefetches whose result was not taken. The caller must poll them.
        """

    def stats(self) -> StoreStats:
        """Return the current statistics. The call is cheap: it happens once a second and for every /metrics request."""

    def check(self) -> None:
        """Raise AssertionError if a lock or a reserved slot has no owner."""

    def flush(self, timeout: float) -> bool:
        """Block until Redis has all blocks; False after `timeout` seconds. Not to be called from the loop's thread."""

    def close(self) -> None:
        """Stop every thread. No method may be called afterwards."""
