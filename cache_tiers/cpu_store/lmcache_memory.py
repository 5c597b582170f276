"""Host memory on LMCache, which only the three modules `lmcache_*` and the plug-in for NPUs use.

LMCache's L1 manager owns the memory: allocation, read and write locks. LMCache's storage manager moves blocks between
L1 and the lower tiers, through one adapter, in the background. Both run in this process, without a server or a GPU
connector. Eviction from L1 is decided here at the moment when room is needed, because LMCache would check only once a
second. The reasons for this half of LMCache and against its older engine are in docs/decisions.
"""

# mypy: disable-error-code="import-untyped"

import warnings
from collections.abc import Generator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from importlib.metadata import version

import torch

from cache_tiers.cpu.growing_memory import GrowingMemory
from cache_tiers.cpu.pool import map_pool
from cache_tiers.cpu.shared_pool import SharedPool
from cache_tiers.cpu_store.block_memory import Evictions, Fetched, MemoryKind, MemoryOptions, NoRoomError
from cache_tiers.cpu_store.lmcache_adapter import (
    PINS_MEMORY,
    HostMemory,
    blocks_of,
    host_memory_at,
    index_listener,
    lower_adapter,
    object_key,
)
from cache_tiers.cpu_store.lmcache_parts import is_writing, names_in, open_manager
from cache_tiers.leak_check import PIECE
from cache_tiers.lower.block import Block
from cache_tiers.lower.tiers import LowerTiers
from cache_tiers.owners.block_key import BlockKey, owner_of

with warnings.catch_warnings():
    # LMCache's loggers use APIs that OpenTelemetry deprecates.
    warnings.simplefilter("ignore", DeprecationWarning)
    from lmcache.v1.distributed import api, config
    from lmcache.v1.distributed.error import L1Error
    from lmcache.v1.distributed.l1_manager import L1Manager
    from lmcache.v1.distributed.l2_adapters import config as adapters
    from lmcache.v1.distributed.storage_manager import StorageManager
    from lmcache.v1.memory_management import MemoryObj

_WRITER = "ebb"

# Every lock is released by this module exactly once. LMCache's own time limit on locks must never expire first.
_LOCK_SECONDS = 30 * 24 * 3600


@dataclass(slots=True)
class _Fetch:
    """LMCache's prefetch of `keys`."""

    memory: "LMCacheMemory"
    keys: Sequence[BlockKey]
    handle: api.PrefetchHandle

    def result(self) -> Fetched | None:
        """See Fetch."""
        return self.memory.fetched(self.keys, self.handle)


class LMCacheMemory:
    """BlockMemory on LMCache."""

    def __init__(
        self, l1: L1Manager, manager: StorageManager, lower: LowerTiers, host_memory: HostMemory, block_nbytes: int
    ) -> None:
        self.shared_pool: SharedPool | None = None
        self._l1 = l1
        self._manager = manager
        self._lower = lower
        self._host_memory = host_memory
        self._layout = api.MemoryLayoutDesc([torch.Size([block_nbytes])], [torch.uint8])
        memory = l1.get_l1_memory_desc()
        self._base = int(memory.ptr)
        self._pool = map_pool(self._base, int(memory.size))

    @property
    def pool(self) -> memoryview:
        """See BlockMemory."""
        return self._pool

    @property
    def usage(self) -> tuple[int, int]:
        """See BlockMemory."""
        used, capacity = self._l1.get_memory_usage()
        return int(used), int(capacity)

    def contains(self, key: BlockKey) -> bool:
        """See BlockMemory."""
        return self._l1.get_object_state(object_key(key)) is not None

    def reserve(self, key: BlockKey) -> int | None:
        """See BlockMemory."""
        self._host_memory.make_room(1, owner_of(key))
        name = object_key(key)
        error, memory = self._l1.reserve_write([name], [False], self._layout, tag=_WRITER)[name]
        if error is L1Error.OUT_OF_MEMORY:
            raise NoRoomError
        return self._offset(memory) if memory is not None else None

    def commit(self, keys: Sequence[BlockKey], *, deferred: bool = False) -> None:
        """See BlockMemory."""
        if self._lower.tiers:
            # LMCache drops a block as a duplicate if a lower tier delivered it in the meantime: no write will follow.
            new = [key for key in keys if not self.contains(key)]
            if deferred:
                self._host_memory.evictions.deferred.defer(new, had_turn=False)
            else:
                self._lower.announce(new)
        self._l1.finish_write([object_key(key) for key in keys], tag=_WRITER)

    def discard(self, keys: Sequence[BlockKey]) -> None:
        """See BlockMemory."""
        self._l1.finish_write_and_delete([object_key(key) for key in keys], tag=_WRITER)

    def lock_run(self, keys: Sequence[BlockKey]) -> list[int]:
        """See BlockMemory."""
        handle = self._manager.submit_prefetch_task(self._task(keys), skip_l2=True)
        fetched = self.fetched(keys, handle)
        return fetched.offsets if fetched is not None else []

    def fetch(self, keys: Sequence[BlockKey]) -> _Fetch:
        """See BlockMemory."""
        asked = list(keys)
        return _Fetch(self, asked, self._manager.submit_prefetch_task(self._task(asked)))

    def fetched(self, keys: Sequence[BlockKey], handle: api.PrefetchHandle) -> Fetched | None:
        """Take the run that LMCache has read-locked for us, up to a block that vanished despite its lock."""
        outcome = self._manager.query_prefetch_status(handle)
        if outcome is None:
            return None
        names = [object_key(key) for key in keys[: outcome.hit_cells[0].popcount()]]
        found = [memory for _, memory in self._l1.unsafe_read(names).values()]
        run = found.index(None) if None in found else len(found)
        self._l1.finish_read(
            [name for name, memory in zip(names[run:], found[run:], strict=True) if memory is not None]
        )
        return Fetched([self._offset(memory) for memory in found[:run]], min(int(outcome.l2_hit_count), run))

    def lock(self, keys: Sequence[BlockKey]) -> list[Block]:
        """See BlockMemory."""
        names = [object_key(key) for key in keys if self.contains(key)]
        found = {name: memory for name, (_, memory) in self._l1.reserve_read(names).items() if memory is not None}
        return blocks_of(list(found), list(found.values()))

    def unlock(self, keys: Sequence[BlockKey]) -> None:
        """See BlockMemory."""
        self._l1.finish_read([object_key(key) for key in keys])

    def drop(self, keys: Sequence[BlockKey]) -> list[BlockKey]:
        """See BlockMemory."""
        results = self._l1.delete([object_key(key) for key in keys])
        return [key for key in keys if results[object_key(key)] is L1Error.KEY_IS_LOCKED]

    def clear(self) -> bool:
        """See BlockMemory."""
        self._l1.clear(force=False)
        return self.usage[0] == 0

    def find_locked(self) -> Generator[float, None, Sequence[BlockKey]]:
        """See BlockMemory. LMCache's own checks hold its lock for as long as they walk over all blocks."""
        assert self._l1.get_staging_memory_usage() == 0, "LMCache holds write locks"
        slots = self._host_memory.num_slots
        num_blocks, locked = 0, list[BlockKey]()
        for visited, name in enumerate(names_in(self._l1), 1):
            # LMCache's threads may have removed it.
            num_blocks += self._l1.get_object_state(name) is not None
            if self._is_read_locked(name):
                locked.append(name.chunk_hash)
            if visited % PIECE == 0:
                yield 0.0
        if slots == self._host_memory.num_slots:
            assert slots == num_blocks, "LMCache holds memory of blocks that it does not have"
        return locked

    def are_locked(self, keys: Sequence[BlockKey]) -> bool:
        """See BlockMemory."""
        return not is_writing(self._manager) and any(self._is_read_locked(object_key(key)) for key in keys)

    def _is_read_locked(self, name: api.ObjectKey) -> bool:
        state = self._l1.get_object_state(name)
        return state is not None and state.read_lock.is_locked()

    def check(self) -> None:
        """See BlockMemory."""
        assert self._manager.memcheck(), "LMCache's allocator is inconsistent"

    def close(self) -> None:
        """See BlockMemory."""
        self._manager.close()

    def _offset(self, memory: MemoryObj) -> int:
        return int(memory.data_ptr) - self._base

    def _task(self, keys: Sequence[BlockKey]) -> api.PrefetchTaskSpec:
        return api.PrefetchTaskSpec([api.GroupedObjectKeys([object_key(key) for key in keys], 0, self._layout)])


def _open_l1(size: int, shared_pool: SharedPool | None, growing: GrowingMemory | None) -> L1Manager:
    """Open LMCache's host memory: shared, at `growing`, or pinned."""
    name = shared_pool.name if shared_pool is not None else ""
    with host_memory_at(growing) if growing is not None else nullcontext():
        l1 = L1Manager(
            config.L1ManagerConfig(
                config.L1MemoryManagerConfig(size_in_bytes=size, use_lazy=False, shm_name=name),
                write_ttl_seconds=_LOCK_SECONDS,
                read_ttl_seconds=_LOCK_SECONDS,
            )
        )
    if shared_pool is not None:
        shared_pool.touch()
    return l1


def _open(options: MemoryOptions, lower: LowerTiers, evictions: Evictions) -> LMCacheMemory:
    """Open LMCache. Private host memory becomes resident with its use. Pinned and shared memory is allocated here."""
    size, keeps = options.nbytes, options.keeps_blocks
    shared_pool = SharedPool.named(size) if options.shared else None
    if shared_pool is not None:
        shared_pool.check_room()
    growing = GrowingMemory(size) if shared_pool is None and not PINS_MEMORY else None
    l1 = _open_l1(size, shared_pool, growing)
    l1.register_listener(index_listener(evictions.index))
    host_memory = HostMemory(l1, evictions, options.block_nbytes, lower, growing)
    manager = open_manager(
        l1,
        config.StorageManagerConfig(
            l1_manager_config=l1.config,
            eviction_config=config.EvictionConfig("noop"),
            l2_adapter_config=adapters.L2AdaptersConfig([lower_adapter(lower, host_memory)] if lower.tiers else []),
            store_policy="default" if keeps else "skip_l1",
            prefetch_policy="retain" if keeps else "default",
            prefetch_max_in_flight=options.max_fetches,
        ),
    )
    memory = LMCacheMemory(l1, manager, lower, host_memory, options.block_nbytes)
    memory.shared_pool = shared_pool
    return memory


LMCACHE = MemoryKind(f"LMCache {version('lmcache')}", _open)
