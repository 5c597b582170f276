"""The tiers below the device, on LMCache, which only the three modules `lmcache_*` and the plug-in for NPUs use.

LMCache's L1 manager owns the host memory: allocation, read and write locks. LMCache's storage manager moves blocks
between L1 and the lower tiers, through one adapter, in the background. Both run in this process, without a server or a
GPU connector. Eviction from L1 is decided here at the moment when room is needed, because LMCache would check only once
a second. The reasons for this half of LMCache and against its older engine are in docs/decisions.
"""

# mypy: disable-error-code="import-untyped"

import itertools
import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial

import torch

from cache_tiers.cpu.eviction import EvictionName, make_eviction
from cache_tiers.cpu.eviction_index import EvictionIndex
from cache_tiers.cpu.growing_memory import GrowingMemory
from cache_tiers.cpu.pool import map_pool, pool_bytes
from cache_tiers.cpu.shared_pool import SharedPool
from cache_tiers.cpu.slot_book import SlotBook
from cache_tiers.cpu_store.lmcache_adapter import (
    PINS_MEMORY,
    SMALLEST_WINDOW,
    HostMemory,
    blocks_of,
    host_memory_at,
    index_listener,
    lower_adapter,
    object_key,
)
from cache_tiers.cpu_store.lmcache_parts import is_writing, names_in, open_manager
from cache_tiers.cpu_store.mailbox import Mailbox
from cache_tiers.leak_check import PIECE, LeakCheck, complete
from cache_tiers.lower.async_tier import AsyncTier
from cache_tiers.lower.backend import TierBackend
from cache_tiers.lower.link_speed import LinkSpeed
from cache_tiers.lower.misses import TierMiss
from cache_tiers.lower.promise import Promised, PromiseTerms
from cache_tiers.lower.sealed_value import BlockSeal
from cache_tiers.lower.tier import LowerTierOptions
from cache_tiers.lower.tiers import LowerTiers
from cache_tiers.owners.block_key import BlockKey, Owner, owner_of
from cache_tiers.owners.owners import Owners
from cache_tiers.owners.shares import MemoryShares
from cache_tiers.store import CPUTierStats, HostSlot, PrefetchResult, StoreStats
from cache_tiers.tier import CPU, Tier, TierId

with warnings.catch_warnings():
    # LMCache's loggers use APIs that OpenTelemetry deprecates.
    warnings.simplefilter("ignore", DeprecationWarning)
    from lmcache.v1.distributed import api, config
    from lmcache.v1.distributed.error import L1Error
    from lmcache.v1.distributed.l1_manager import L1Manager
    from lmcache.v1.distributed.l2_adapters import config as adapters
    from lmcache.v1.distributed.storage_manager import StorageManager
    from lmcache.v1.memory_management import MemoryObj

_LARGEST_WINDOW = 32
_WINDOWS_IN_POOL = 8

_REWRITE_AT_ONCE = 8

_WRITER = "ebb"

# Every lock is released by this module exactly once. LMCache's own time limit on locks must never expire first.
_LOCK_SECONDS = 30 * 24 * 3600

# Number of looks after which read locks count as leaked, and the seconds between two looks.
_LOOKS_AT_LOCKS = 20
_BETWEEN_LOOKS_SECONDS = 0.005


@dataclass(slots=True)
class _Prefetch:
    """A prefetch in flight.

    slots: the leading run that is already locked.
    sources: for each of these, the tier that had its block.
    rest: the keys after that run.
    request: LMCache's prefetch of `rest`; None while there is none.
    lookup_seconds: time until the lower tiers reported which of the keys they have.
    """

    slots: list[HostSlot]
    sources: list[TierId]
    rest: list[BlockKey]
    request: api.PrefetchHandle | None
    lookup_seconds: float = 0.0


class LMCacheStore:
    """KVTierStore on LMCache."""

    def __init__(
        self,
        l1: L1Manager,
        manager: StorageManager,
        block_nbytes: int,
        lower: LowerTiers,
        host_memory: HostMemory,
        *,
        keeps_in_cpu: bool,
        shared_pool: SharedPool | None = None,
    ) -> None:
        """Create the store. `shared_pool` names the pool for other processes; None if the pool is private."""
        self.keeps_in_cpu = keeps_in_cpu
        self.shared_pool = shared_pool
        self._l1 = l1
        self._manager = manager
        self._lower = lower
        self._host_memory = host_memory
        self._layout = api.MemoryLayoutDesc([torch.Size([block_nbytes])], [torch.uint8])
        memory = l1.get_l1_memory_desc()
        self._base = int(memory.ptr)
        self._pool = map_pool(self._base, int(memory.size))
        self._book = SlotBook()
        self._prefetches: dict[int, _Prefetch] = {}
        self._handles = itertools.count()
        self._looked_up: Mailbox[int] = Mailbox(lambda: None)
        self._promised: Mailbox[Promised] = Mailbox(lambda: None)
        self._rewriting: list[api.ObjectKey] = []
        self._rewritten: Mailbox[bool] = Mailbox(lambda: None)
        self._erased: Mailbox[tuple[Sequence[BlockKey], bool]] = Mailbox(lambda: None)
        self._max_window = _max_window(int(memory.size), block_nbytes)

    @property
    def pool(self) -> memoryview:
        """The whole host arena. `close` frees it."""
        return self._pool

    def reserve(self, keys: Sequence[BlockKey]) -> list[HostSlot]:
        """See KVTierStore. Keys are reserved singly: LMCache refuses a whole batch if its last block does not fit."""
        slots, refused = [], set[Owner]()
        for key in keys:
            owner = owner_of(key)
            # A block is useless without those before it in its chain.
            if owner in refused or self.contains(key):
                continue
            self._host_memory.make_room(1, owner)
            name = object_key(key)
            error, memory = self._l1.reserve_write([name], [False], self._layout, tag=_WRITER)[name]
            if error is L1Error.OUT_OF_MEMORY:
                refused.add(owner)
            if memory is not None:
                self._book.reserve(key)
                slots.append(self._slot(key, memory))
        return slots

    def contains(self, key: BlockKey) -> bool:
        """See KVTierStore."""
        return self._l1.get_object_state(object_key(key)) is not None

    def commit(self, keys: Sequence[BlockKey]) -> None:
        """See KVTierStore. Raise ValueError for a key that is not reserved."""
        self._book.end_write(keys)
        # LMCache drops a block as a duplicate if a lower tier delivered it in the meantime: no write will follow.
        if self._lower.tiers:
            self._lower.announce([key for key in keys if not self.contains(key)])
        self._l1.finish_write([object_key(key) for key in keys], tag=_WRITER)

    def discard(self, keys: Sequence[BlockKey]) -> None:
        """See KVTierStore. Raise ValueError for a key that is not reserved."""
        self._book.end_write(keys)
        self._l1.finish_write_and_delete([object_key(key) for key in keys], tag=_WRITER)

    @property
    def max_window(self) -> int:
        """See KVTierStore."""
        return self._max_window

    def link_speed(self, keys: Sequence[BlockKey] = ()) -> LinkSpeed | None:
        """See KVTierStore."""
        return self._lower.speed_for(keys)

    def num_known_below(self, keys: Sequence[BlockKey]) -> int:
        """See KVTierStore."""
        return self._lower.num_known(keys)

    def place_below(self, key: BlockKey) -> TierId | None:
        """See KVTierStore."""
        return self._lower.place_of(key)

    def look_up(self, keys: Sequence[BlockKey]) -> int:
        """See KVTierStore."""
        handle = self._looked_up.open()
        self._lower.find(keys, lambda found: self._looked_up.put(handle, [*found, False].index(False)))
        return handle

    def poll_look_up(self, handle: int) -> int | None:
        """See KVTierStore."""
        return self._looked_up.take(handle)

    def prefetch(self, keys: Sequence[BlockKey], *, lower: bool) -> int:
        """See KVTierStore. Blocks in host memory are locked before the lower tiers are asked for the rest."""
        if len(keys) > self._max_window:
            raise ValueError(f"a window has at most {self._max_window} keys, not {len(keys)}")
        prefetch = _Prefetch([], [], list(keys), None)
        self._extend_from_cpu(prefetch)
        if lower:
            self._ask_lower(prefetch)
        handle = next(self._handles)
        self._prefetches[handle] = prefetch
        return handle

    def poll(self, handle: int) -> PrefetchResult | None:
        """See KVTierStore. An unknown or finished handle returns an empty run."""
        prefetch = self._prefetches.get(handle)
        if prefetch is None:
            return PrefetchResult((), ())
        if prefetch.request is not None:
            outcome = self._manager.query_prefetch_status(prefetch.request)
            if outcome is None:
                return None
            prefetch.request = None
            prefetch.lookup_seconds += self._lower.take_lookup_seconds(prefetch.rest[0])
            self._extend(prefetch, outcome)
            # LMCache ends a run before a block that another prefetch has loaded in the meantime.
            if self._extend_from_cpu(prefetch) and self._ask_lower(prefetch):
                return None
        del self._prefetches[handle]
        self._book.lock([slot.key for slot in prefetch.slots])
        return PrefetchResult(tuple(prefetch.slots), tuple(prefetch.sources), prefetch.lookup_seconds)

    def miss_of(self, key: BlockKey) -> TierMiss:
        """See KVTierStore."""
        return self._lower.miss_of(key)

    def source_of(self, key: BlockKey) -> TierId:
        """See KVTierStore."""
        return self._lower.source_of(key)

    def release(self, keys: Sequence[BlockKey]) -> None:
        """See KVTierStore. Raise ValueError for a key that is not locked."""
        self._book.release(keys)
        self._l1.finish_read([object_key(key) for key in keys])

    def touch(self, chain: Sequence[BlockKey], num_found: int, marked: range) -> None:
        """See KVTierStore."""
        self._host_memory.eviction_index.touch(chain, num_found, marked)
        self._lower.renew(chain)

    def clear_cpu(self) -> bool:
        """See KVTierStore."""
        self._l1.clear(force=False)
        return int(self._l1.get_memory_usage()[0]) == 0

    def protect(self, chain: Sequence[BlockKey]) -> None:
        """See KVTierStore."""
        self._host_memory.eviction_index.protect(chain)

    def write_missed(self, *, begin: bool) -> bool:
        """See KVTierStore. One batch is written at a time, read-locked until its result arrives."""
        if self._rewriting and self._rewritten.take_all():
            self._l1.finish_read(self._rewriting)
            if not self.keeps_in_cpu:
                self._l1.delete(self._rewriting)
            self._rewriting = []
        if begin and not self._rewriting:
            missed = self._lower.take_missed(_REWRITE_AT_ONCE)
            if missed is not None:
                self._begin_rewrite(*missed)
        return bool(self._rewriting) or self._lower.num_missed > 0 or self._lower.may_miss_more

    def _begin_rewrite(self, tier: AsyncTier, missed: Sequence[bytes]) -> None:
        names = [object_key(key) for key in map(BlockKey, missed) if self.contains(key)]
        found = {name: memory for name, (_, memory) in self._l1.reserve_read(names).items() if memory is not None}
        if found:
            self._rewriting = list(found)
            batch = self._rewritten.open()
            tier.put(blocks_of(list(found), list(found.values())), lambda stored: self._rewritten.put(batch, stored))

    def erase(self, keys: Sequence[BlockKey]) -> list[BlockKey]:
        """See KVTierStore.

        LMCache locks a block until its writes to the lower tiers have ended, so no write of an unlocked block can be in
        flight.
        """
        arriving = {key for prefetch in self._prefetches.values() if prefetch.request for key in prefetch.rest}
        results = self._l1.delete([object_key(key) for key in keys if key not in arriving])
        busy = [key for key in keys if results.get(object_key(key), L1Error.KEY_IS_LOCKED) is L1Error.KEY_IS_LOCKED]
        if gone := sorted({*keys}.difference(busy)):
            batch = self._erased.open()
            self._lower.erase(gone, lambda erased: self._erased.put(batch, (gone, erased)))
        return busy

    def poll_erased(self) -> list[tuple[Sequence[BlockKey], bool]]:
        """See KVTierStore."""
        return list(self._erased.take_all().values())

    def promise(self, keys: Sequence[BlockKey], terms: PromiseTerms) -> int:
        """See KVTierStore."""
        handle = self._promised.open()
        self._lower.promise(keys, terms, lambda promised: self._promised.put(handle, promised))
        return handle

    def poll_promise(self, handle: int) -> Promised | None:
        """See KVTierStore."""
        return self._promised.take(handle)

    def abandon(self) -> list[int]:
        """See KVTierStore."""
        reserved, locked = self._book.take_back()
        self._l1.finish_write_and_delete([object_key(key) for key in reserved], tag=_WRITER)
        for key in locked:
            self._l1.finish_read([object_key(key)])
        return list(self._prefetches)

    def stats(self) -> StoreStats:
        """See KVTierStore."""
        # A staging pool is not a tier.
        used, capacity = self._l1.get_memory_usage() if self.keeps_in_cpu else (0, 0)
        held = self._host_memory.eviction_index.held if self.keeps_in_cpu else {}
        cpu = CPUTierStats(used, capacity, self._host_memory.num_evicted, self._host_memory.num_lost, held)
        return StoreStats(cpu, self._lower.stats())

    def check(self) -> None:
        """Raise AssertionError for what `leak_check` finds."""
        complete(self.leak_check())

    def leak_check(self) -> LeakCheck:
        """See KVTierStore. LMCache's own checks hold its lock for as long as they walk over all blocks."""
        self._book.check()
        assert not self._prefetches, f"the results of {len(self._prefetches)} prefetches were never collected"
        assert self._l1.get_staging_memory_usage() == 0, "LMCache holds write locks"
        slots = self._host_memory.num_slots
        num_blocks, locked = 0, list[api.ObjectKey]()
        for visited, name in enumerate(names_in(self._l1), 1):
            # LMCache's threads may have removed it.
            num_blocks += self._l1.get_object_state(name) is not None
            if self._is_read_locked(name):
                locked.append(name)
            if visited % PIECE == 0:
                yield 0.0
        if slots == self._host_memory.num_slots:
            assert slots == num_blocks, "LMCache holds memory of blocks that it does not have"
        yield from self._check_read_locks(locked)

    def _check_read_locks(self, locked: Sequence[api.ObjectKey]) -> LeakCheck:
        """Check that no block stays locked while nothing is written.

        LMCache locks the blocks of a write before it counts the write, on a separate thread, so a single look may
        come in between.
        """
        for _ in range(_LOOKS_AT_LOCKS):
            if self._rewriting or is_writing(self._manager) or not any(map(self._is_read_locked, locked)):
                return
            yield _BETWEEN_LOOKS_SECONDS
        raise AssertionError("LMCache holds read locks")

    def _is_read_locked(self, name: api.ObjectKey) -> bool:
        state = self._l1.get_object_state(name)
        return state is not None and state.read_lock.is_locked()

    def flush(self, timeout: float) -> bool:
        """See KVTierStore. Also return False if a lower tier refused or lost a block while the caller waited."""
        return self._lower.flush(timeout)

    def close(self) -> None:
        """See KVTierStore. The pool is freed: no view of it may be used afterwards."""
        self._lower.close()
        self._manager.close()

    def _extend_from_cpu(self, prefetch: _Prefetch) -> bool:
        """Lock the leading run of the remaining keys that L1 holds. Return False if that run is empty."""
        if not prefetch.rest:
            return False
        request = self._manager.submit_prefetch_task(self._task(prefetch.rest), skip_l2=True)
        return self._extend(prefetch, self._manager.query_prefetch_status(request))

    def _ask_lower(self, prefetch: _Prefetch) -> bool:
        """Begin to fetch the remaining keys from the lower tiers. Return False if no request was submitted."""
        if not prefetch.rest:
            return False
        if not self._lower.available:
            self._lower.note_unanswered(prefetch.rest[:1])
            return False
        prefetch.request = self._manager.submit_prefetch_task(self._task(prefetch.rest))
        return True

    def _extend(self, prefetch: _Prefetch, outcome: api.PrefetchResult) -> bool:
        """Take the run that LMCache has read-locked for us, up to a block that vanished despite its lock.

        Return False if that run is empty.
        """
        keys = prefetch.rest[: outcome.hit_cells[0].popcount()]
        names = [object_key(key) for key in keys]
        found = [memory for _, memory in self._l1.unsafe_read(names).values()]
        run = found.index(None) if None in found else len(found)
        self._l1.finish_read(
            [name for name, memory in zip(names[run:], found[run:], strict=True) if memory is not None]
        )
        prefetch.slots += [self._slot(key, memory) for key, memory in zip(keys[:run], found[:run], strict=True)]
        fetched = min(outcome.l2_hit_count, run)
        prefetch.sources += [CPU.id] * (run - fetched)
        prefetch.sources += [self._lower.source_of(key) for key in keys[run - fetched : run]]
        del prefetch.rest[:run]
        return run > 0

    def _slot(self, key: BlockKey, memory: MemoryObj) -> HostSlot:
        return HostSlot(key, int(memory.data_ptr) - self._base)

    def _task(self, keys: Sequence[BlockKey]) -> api.PrefetchTaskSpec:
        return api.PrefetchTaskSpec([api.GroupedObjectKeys([object_key(key) for key in keys], 0, self._layout)])


def _max_window(pool_nbytes: int, block_nbytes: int) -> int:
    """Return the window size at which several windows of several loads fit the pool.

    A tiny pool keeps the smallest window, and loads then bring fewer blocks than requested.
    """
    return max(SMALLEST_WINDOW, min(_LARGEST_WINDOW, pool_nbytes // (_WINDOWS_IN_POOL * block_nbytes)))


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


def open_store(
    *,
    block_nbytes: int,
    cpu_bytes: int,
    lower: Sequence[TierBackend],
    seal: BlockSeal,
    keep_in_cpu: bool,
    eviction: EvictionName,
    off: Sequence[Tier] = (),
    owners: Owners | None = None,
    shared: bool = False,
) -> LMCacheStore:
    """Build the tiers. Private host memory becomes resident with its use. Pinned and shared memory is allocated here.

    cpu_bytes: size of the CPU tier. Without `keep_in_cpu`, the size of the staging pool, but at least 64 MiB.
    lower: the tiers below CPU memory, the nearest first. They do not have to be reachable.
    seal: signs and checks blocks that leave the process.
    keep_in_cpu: keep blocks in host memory after they went to a lower tier or to the device. If False, host memory is
        only a staging pool.
    eviction: the order in which blocks of one owner leave host memory.
    off: registered tiers that are off.
    owners: names and weights of the owners of blocks.
    shared: put host memory where other processes can map it.

    Raise ValueError if all tiers are off, SharedMemoryError if there is too little shared memory.
    """
    if not (lower or keep_in_cpu):
        raise ValueError("no tier to open: the CPU tier and all lower tiers are off")
    owners = owners if owners is not None else Owners()
    size = pool_bytes(cpu_bytes, block_nbytes, staging=not keep_in_cpu)
    shared_pool = SharedPool.named(size) if shared else None
    if shared_pool is not None:
        shared_pool.check_room()
    growing = GrowingMemory(size) if shared_pool is None and not PINS_MEMORY else None
    l1 = _open_l1(size, shared_pool, growing)
    # Blocks that wait to be written cannot be evicted. A staging pool before a single tier refuses new blocks rather
    # than drop waiting ones. Before several tiers, a slow one must not fill it.
    waiting = size if not keep_in_cpu and len(lower) == 1 else max(size // 2, 2 * block_nbytes)
    options = LowerTierOptions(block_nbytes, waiting, seal, owners)
    tiers = LowerTiers([AsyncTier(each, options) for each in lower], owners, off=off)
    eviction_index = EvictionIndex(partial(make_eviction, eviction), MemoryShares(owners))
    l1.register_listener(index_listener(eviction_index))
    host_memory = HostMemory(l1, eviction_index, block_nbytes, tiers, growing)
    manager = open_manager(
        l1,
        config.StorageManagerConfig(
            l1_manager_config=l1.config,
            eviction_config=config.EvictionConfig("noop"),
            l2_adapter_config=adapters.L2AdaptersConfig([lower_adapter(tiers, host_memory)] if lower else []),
            store_policy="default" if keep_in_cpu else "skip_l1",
            prefetch_policy="retain" if keep_in_cpu else "default",
            prefetch_max_in_flight=max(1, min(8, size // (2 * _max_window(size, block_nbytes) * block_nbytes))),
        ),
    )
    return LMCacheStore(
        l1, manager, block_nbytes, tiers, host_memory, keeps_in_cpu=keep_in_cpu, shared_pool=shared_pool
    )
