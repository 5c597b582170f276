"""The seam to whatever keeps blocks in host memory and below it. Implemented by `lmcache_store`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from cache_tiers.block_key import BlockKey


@dataclass(frozen=True, slots=True)
class HostSlot:
    """Where a block lies in the CPU tier's pool, in bytes from its start."""

    key: BlockKey
    offset: int


@dataclass(frozen=True, slots=True)
class PrefetchResult:
    """The longest run of the asked keys that now lies in host memory, verified and read-locked.

    `slots[:from_cpu]` were there already, the `from_redis` after them were fetched. Each slot must be given to
    `release` exactly once.
    """

    slots: tuple[HostSlot, ...]
    from_cpu: int
    from_redis: int


@dataclass(frozen=True, slots=True)
class StoreStats:
    """Occupancy and health, in bytes and counts since the start. `redis_state` is "off", "ok" or why it is not."""

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
    redis_rejected_blocks: int


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

    def prefetch(self, keys: Sequence[BlockKey], *, redis: bool) -> int:
        """Begin to bring the longest run of `keys` into host memory (at most 8); returns a handle for `poll`."""

    def poll(self, handle: int) -> PrefetchResult | None:
        """None while it runs; afterwards its result, once. A fault below is a shorter run, never an exception."""

    def release(self, keys: Sequence[BlockKey]) -> None:
        """Unlock slots that `poll` gave."""

    def stats(self) -> StoreStats:
        """Cheap: called once a second, and for every /metrics."""

    def check(self) -> None:
        """Raise AssertionError if locks or reserved slots have no owner."""

    def flush(self, timeout: float) -> bool:
        """Wait (blocking, from another thread than the loop's) until Redis has all; False if it did not in time."""

    def close(self) -> None:
        """Stop every thread. Nothing may be called afterwards."""
