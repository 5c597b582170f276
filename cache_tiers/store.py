"""The seam to whatever keeps blocks in host memory and below it. Implemented by `lmcache_store`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, Protocol

from cache_tiers.block_key import BlockKey, Owner
from cache_tiers.histogram import Histogram
from cache_tiers.link_speed import LinkSpeed

REDIS_TTL_SECONDS: Final = 7 * 24 * 3600
"""How long a block stays in Redis that nobody uses."""


@dataclass(frozen=True, slots=True)
class HostSlot:
    """Where a block lies in the CPU tier's pool, in bytes from its start."""

    key: BlockKey
    offset: int


@dataclass(frozen=True, slots=True)
class PrefetchResult:
    """The longest run of the asked keys that now lies in host memory, verified and read-locked.

    `slots[:from_cpu]` were there already, the `from_redis` after them were fetched. Each slot must be given to
    `release` exactly once. lookup_seconds: until Redis had said which of the others it has; 0 if it was not asked.
    """

    slots: tuple[HostSlot, ...]
    from_cpu: int
    from_redis: int
    lookup_seconds: float = 0.0


class Absence(Enum):
    """Why a block did not come from Redis when it was wanted."""

    OFF = "Redis is off"
    LEFT_ALONE = "Redis was left alone"
    NO_ANSWER = "Redis did not answer"
    GONE = "no longer in Redis: evicted, expired or deleted"
    UNKNOWN_KEY = "not in Redis: evicted, expired, deleted, or never written by a model of the same numerics"
    REJECTED = "what Redis had was not used"
    NOT_TAKEN = "it was not brought up: the CPU tier had no room for it"


@dataclass(frozen=True, slots=True)
class Missing:
    """detail: what is known beyond the absence, in words; may be empty."""

    absence: Absence
    detail: str = ""


@dataclass(frozen=True, slots=True)
class StoreStats:
    """Occupancy and health, in bytes and counts since the start. `redis_state` is "off", "ok" or why it is not.

    redis_rejects: blocks that were found and not used, by the reason in a word. redis_speed: of the way to it, as far
    as that is known. redis_retry_seconds: while its state is not "ok", until it is tried again. redis_refusal: the
    error with which it answered the last write; empty if it took it. redis_lookup_seconds: of each question which
    blocks it has; redis_store_seconds: of each block written. cpu_evicted_blocks: those that made room for others.
    redis_evicted_keys: the same, counted by the Redis server, whoever wrote them. cpu_held_blocks: by their owners.
    cpu_lost_blocks: of those that made room, the ones that Redis was not known to have, while there is one.
    redis_shed_blocks: of those that failed, the ones for which the queue of writes had no room.
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
        """For whatever reason."""
        return sum(self.redis_rejects.values())


class KVTierStore(Protocol):
    """All calls return at once and come from one thread (the event loop's); nothing here waits for Redis."""

    @property
    def pool(self) -> memoryview:
        """The whole host arena, writable, format 'B'; offsets of slots count from its start."""

    def reserve(self, keys: Sequence[BlockKey]) -> list[HostSlot]:
        """Slots to write; a key that is already stored, being written, or refused for lack of room is left out."""

    def contains(self, key: BlockKey) -> bool:
        """Whether the CPU tier holds `key`, readable, right now."""

    def commit(self, keys: Sequence[BlockKey]) -> None:
        """The reserved slots' bytes are whole: they become visible, and the write to Redis begins."""

    def discard(self, keys: Sequence[BlockKey]) -> None:
        """Give reserved slots back unwritten."""

    @property
    def keeps_in_cpu(self) -> bool:
        """Whether blocks stay in host memory; otherwise they only pass through it."""

    @property
    def max_window(self) -> int:
        """Most keys of one prefetch."""

    @property
    def redis_speed(self) -> LinkSpeed | None:
        """Of the way to Redis; None while there is none, or it is left alone."""

    def num_known_in_redis(self, keys: Sequence[BlockKey]) -> int:
        """How many of the first keys Redis should hold, as far as is known without asking it."""

    def look_up(self, keys: Sequence[BlockKey]) -> int:
        """Begin to ask how long the run of `keys` in Redis is; returns a handle for `poll_look_up`."""

    def poll_look_up(self, handle: int) -> int | None:
        """None while it runs; afterwards the length of the run, once. A hint: a later load may find less."""

    def prefetch(self, keys: Sequence[BlockKey], *, redis: bool) -> int:
        """Begin to bring the longest run of at most `max_window` keys into host memory; returns a handle for `poll`."""

    def poll(self, handle: int) -> PrefetchResult | None:
        """None while it runs; afterwards its result, once. A fault below is a shorter run, never an exception."""

    def why_missing(self, key: BlockKey) -> Missing:
        """Why Redis did not bring `key`, at which the last look-up or prefetch of it ended."""

    def release(self, keys: Sequence[BlockKey]) -> None:
        """Unlock slots that `poll` gave."""

    def used(self, chain: Sequence[BlockKey], num_found: int) -> None:
        """A request had these blocks, from its first on; `num_found` of them were there before it came, in whatever
        tier. So they are not the oldest of any tier."""

    def clear_cpu(self) -> bool:
        """Forget what lies in host memory; False if some of it is being read or written just now, and stays. A block
        that has arrived in Redis can be held for a moment longer."""

    def wanted(self, chain: Sequence[BlockKey]) -> None:
        """A request is about to use these: they are not the first to leave host memory."""

    def write_missed(self, *, begin: bool) -> bool:
        """Write some blocks that did not reach Redis when it was away and are still in host memory: go on with those
        that are being written and, with `begin`, begin with others. Whether there are any, or could soon be."""

    def erase(self, keys: Sequence[BlockKey]) -> list[BlockKey]:
        """Remove the blocks from host memory, and then from Redis if it is there. Returns those that are being read or
        written just now: in neither tier anything has happened to them."""

    def abandon(self) -> list[int]:
        """Take back every slot and lock that was given out, from a user whose own records are in doubt. No copy may be
        under way. Returns the handles of prefetches whose result was not taken; the caller polls them."""

    def stats(self) -> StoreStats:
        """Cheap: called once a second, and for every /metrics."""

    def check(self) -> None:
        """Raise AssertionError if locks or reserved slots have no owner."""

    def flush(self, timeout: float) -> bool:
        """Wait (blocking, from another thread than the loop's) until Redis has all; False if it did not in time."""

    def close(self) -> None:
        """Stop every thread. Nothing may be called afterwards."""
