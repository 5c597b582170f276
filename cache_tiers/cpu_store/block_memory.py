"""Host memory of a store: slots, locks and eviction. Implemented on LMCache and by Ebb itself."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from cache_tiers.cpu.eviction_index import EvictionIndex
from cache_tiers.cpu.shared_pool import SharedPool
from cache_tiers.cpu_store.deferred_blocks import DeferredBlocks
from cache_tiers.lower.block import Block
from cache_tiers.lower.tiers import LowerTiers
from cache_tiers.owners.block_key import BlockKey
from cache_tiers.owners.owners import Owners

_MOST_FETCHES: Final = 8


class NoRoomError(Exception):
    """No slot is free, and no block may be evicted for the owner of the new one."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """Result of a fetch: the leading run of its blocks that is in host memory, verified and read-locked.

    offsets: positions of the run in the pool, in bytes.
    num_below: number of blocks at the end of the run that came from a lower tier.
    """

    offsets: list[int]
    num_below: int


class Fetch(Protocol):
    """A load of blocks from the lower tiers into host memory, in flight."""

    def result(self) -> Fetched | None:
        """Return the result, once; None while the load is in flight. The run may be too short."""


class BlockMemory(Protocol):
    """Blocks in host memory. Calls return without waiting for a lower tier.

    They come from one thread, except for `lock`, `unlock` and `drop`.

    shared_pool: the pool's name for other processes; None if the pool is private.
    """

    shared_pool: SharedPool | None

    @property
    def pool(self) -> memoryview:
        """The whole arena, writable, format 'B'. `close` frees it."""

    @property
    def usage(self) -> tuple[int, int]:
        """Bytes of the slots in use, and of the whole pool."""

    def contains(self, key: BlockKey) -> bool:
        """Return True if `key` is readable now."""

    def reserve(self, key: BlockKey) -> int | None:
        """Reserve a slot to write, evicting if needed, and return its offset; None if the block has a slot already.

        Raise NoRoomError.
        """

    def commit(self, keys: Sequence[BlockKey], *, deferred: bool = False) -> None:
        """Publish reserved slots, and begin to write them to the lower tiers, unless they are to be deferred."""

    def discard(self, keys: Sequence[BlockKey]) -> None:
        """Return reserved slots that were not written."""

    def lock_run(self, keys: Sequence[BlockKey]) -> list[int]:
        """Read-lock the leading run of `keys` that is readable. Return its offsets."""

    def fetch(self, keys: Sequence[BlockKey]) -> Fetch:
        """Begin to load the leading run of `keys` from the lower tiers. The result must be taken."""

    def lock(self, keys: Sequence[BlockKey]) -> list[Block]:
        """Read-lock those of `keys` that are readable, and return them."""

    def unlock(self, keys: Sequence[BlockKey]) -> None:
        """Return one read lock on each of `keys`."""

    def drop(self, keys: Sequence[BlockKey]) -> list[BlockKey]:
        """Remove blocks. Return those that stay because they are being read or written, also to a lower tier."""

    def clear(self) -> bool:
        """Remove all blocks. Return False if some stay because they are being read or written."""

    def find_locked(self) -> Generator[float, None, Sequence[BlockKey]]:
        """Visit all blocks in pieces, as a `LeakCheck` does, while nothing is reserved. Return the read-locked ones."""

    def are_locked(self, keys: Sequence[BlockKey]) -> bool:
        """Return whether any of `keys` is read-locked while nothing is being written to the lower tiers."""

    def check(self) -> None:
        """Raise AssertionError if the records of slots contradict each other. Slow: for tests."""

    def close(self) -> None:
        """Stop every thread and free the pool. The lower tiers must be closed before."""


class Evictions:
    """Order of eviction, and counts of evicted blocks. The memory calls `note` with its own lock held.

    deferred: blocks that are not to be written to the lower tiers yet.
    num_evicted: blocks evicted since the start.
    num_lost: evicted blocks that no lower tier was known to have, without deferred ones. Always 0 without a lower tier.
    """

    def __init__(self, index: EvictionIndex, lower: LowerTiers, owners: Owners) -> None:
        self.index = index
        self.deferred = DeferredBlocks(owners)
        self.num_evicted = 0
        self.num_lost = 0
        self._lower = lower

    def note(self, gone: Sequence[BlockKey]) -> None:
        """Count blocks that made room for others."""
        self.num_evicted += len(gone)
        if self._lower.tiers:
            self.num_lost += sum(not self._lower.num_known([key]) for key in self.deferred.on_evicted(gone))


@dataclass(frozen=True, slots=True)
class MemoryOptions:
    """Properties of a store's host memory.

    nbytes: size of the pool.
    block_nbytes: bytes of a block.
    max_window: maximum number of blocks in one fetch.
    keeps_blocks: whether blocks stay once they are in a lower tier or have been read.
    shared: put the pool where other processes can map it.
    """

    nbytes: int
    block_nbytes: int
    max_window: int
    keeps_blocks: bool
    shared: bool

    @property
    def max_fetches(self) -> int:
        """Maximum number of fetches in flight. Half of the pool remains for blocks that arrived and are locked."""
        return max(1, min(_MOST_FETCHES, self.nbytes // (2 * self.max_window * self.block_nbytes)))


@dataclass(frozen=True, slots=True)
class MemoryKind:
    """A way to manage host memory.

    name: for people.
    open: raises SharedMemoryError if there is too little shared memory.
    """

    name: str
    open: Callable[[MemoryOptions, LowerTiers, Evictions], BlockMemory]
