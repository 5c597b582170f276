"""The tiers below the device: host memory, on LMCache or by Ebb itself, above the lower tiers."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from cache_tiers.cpu.shared_pool import SharedPool
from cache_tiers.cpu.slot_book import SlotBook
from cache_tiers.cpu_store.block_memory import BlockMemory, Evictions, Fetch, NoRoomError
from cache_tiers.cpu_store.later_writes import LaterWrites
from cache_tiers.cpu_store.mailbox import Mailbox
from cache_tiers.leak_check import LeakCheck, complete
from cache_tiers.lower.link_speed import LinkSpeed
from cache_tiers.lower.misses import TierMiss, TierMissReason
from cache_tiers.lower.promise import Promised, PromiseTerms
from cache_tiers.lower.tiers import LowerTiers
from cache_tiers.owners.block_key import BlockKey, Owner, owner_of
from cache_tiers.store import CPUTierStats, HostSlot, PrefetchResult, StoreStats
from cache_tiers.tier import CPU, TierId

# Number of looks after which read locks count as leaked, and the seconds between two looks.
_LOOKS_AT_LOCKS = 20
_BETWEEN_LOOKS_SECONDS = 0.005


@dataclass(slots=True)
class _Prefetch:
    """A prefetch in flight.

    slots: the leading run that is already locked.
    sources: for each of these, the tier that had its block.
    rest: the keys after that run.
    fetch: the load of `rest` from the lower tiers; None while there is none.
    lookup_seconds: time until the lower tiers reported which of the keys they have.
    """

    slots: list[HostSlot]
    sources: list[TierId]
    rest: list[BlockKey]
    fetch: Fetch | None
    lookup_seconds: float = 0.0


class TierStore:
    """KVTierStore on a BlockMemory."""

    def __init__(
        self, memory: BlockMemory, lower: LowerTiers, evictions: Evictions, *, keeps_in_cpu: bool, max_window: int
    ) -> None:
        """Create the store. The memory uses the same `lower` and `evictions`."""
        self.memory = memory
        self.keeps_in_cpu = keeps_in_cpu
        self.max_window = max_window
        self._lower = lower
        self._evictions = evictions
        self._book = SlotBook()
        self._prefetches: dict[int, _Prefetch] = {}
        self._handles = itertools.count()
        self._looked_up: Mailbox[int] = Mailbox(lambda: None)
        self._promised: Mailbox[Promised] = Mailbox(lambda: None)
        self._later = LaterWrites(lower, memory, evictions.deferred, keeps_in_cpu=keeps_in_cpu)
        self._erased: Mailbox[tuple[Sequence[BlockKey], bool]] = Mailbox(lambda: None)

    @property
    def shared_pool(self) -> SharedPool | None:
        """Name of the pool for other processes; None if the pool is private."""
        return self.memory.shared_pool

    @property
    def pool(self) -> memoryview:
        """The whole host arena. `close` frees it."""
        return self.memory.pool

    # Writes

    def reserve(self, keys: Sequence[BlockKey]) -> list[HostSlot]:
        """See KVTierStore."""
        slots, refused = [], set[Owner]()
        for key in keys:
            owner = owner_of(key)
            # A block is useless without those before it in its chain.
            if owner in refused or self._book.is_reserved(key) or self.memory.contains(key):
                continue
            try:
                offset = self.memory.reserve(key)
            except NoRoomError:
                refused.add(owner)
                continue
            if offset is not None:
                self._book.reserve(key)
                slots.append(HostSlot(key, offset))
        return slots

    def contains(self, key: BlockKey) -> bool:
        """See KVTierStore."""
        return self.memory.contains(key)

    def commit(self, keys: Sequence[BlockKey], *, deferred: bool = False) -> None:
        """See KVTierStore. Raise ValueError for a key that is not reserved."""
        self._book.end_write(keys)
        self._evictions.deferred.on_committed(keys)
        self.memory.commit(keys, deferred=deferred and self.keeps_in_cpu and bool(self._lower.tiers))

    @property
    def num_deferred(self) -> int:
        """See KVTierStore."""
        return len(self._evictions.deferred)

    def admit(self, keys: Sequence[BlockKey]) -> None:
        """See KVTierStore."""
        self._later.admit(keys)

    def write_deferred(self) -> None:
        """See KVTierStore."""
        self._later.write_deferred()

    def discard(self, keys: Sequence[BlockKey]) -> None:
        """See KVTierStore. Raise ValueError for a key that is not reserved."""
        self._book.end_write(keys)
        self.memory.discard(keys)

    def write_missed(self, *, begin: bool) -> bool:
        """See KVTierStore."""
        return self._later.write_missed(begin=begin)

    # Lookups

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

    def miss_of(self, key: BlockKey) -> TierMiss:
        """See KVTierStore."""
        miss = self._lower.miss_of(key)
        if miss.reason is TierMissReason.UNKNOWN_KEY and self._evictions.deferred.was_dropped(key):
            return TierMiss(TierMissReason.DROPPED)
        return miss

    def source_of(self, key: BlockKey) -> TierId:
        """See KVTierStore."""
        return self._lower.source_of(key)

    # Reads

    def prefetch(self, keys: Sequence[BlockKey], *, lower: bool) -> int:
        """See KVTierStore. Blocks in host memory are locked before the lower tiers are asked for the rest."""
        if len(keys) > self.max_window:
            raise ValueError(f"a window has at most {self.max_window} keys, not {len(keys)}")
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
        if prefetch.fetch is not None:
            fetched = prefetch.fetch.result()
            if fetched is None:
                return None
            prefetch.fetch = None
            prefetch.lookup_seconds += self._lower.take_lookup_seconds(prefetch.rest[0])
            self._extend(prefetch, fetched.offsets, fetched.num_below)
            # A fetch ends before a block that another prefetch has loaded in the meantime.
            if self._extend_from_cpu(prefetch) and self._ask_lower(prefetch):
                return None
        del self._prefetches[handle]
        self._book.lock([slot.key for slot in prefetch.slots])
        return PrefetchResult(tuple(prefetch.slots), tuple(prefetch.sources), prefetch.lookup_seconds)

    def _extend_from_cpu(self, prefetch: _Prefetch) -> bool:
        """Lock the leading run of the remaining keys in host memory. Return False if that run is empty."""
        offsets = self.memory.lock_run(prefetch.rest) if prefetch.rest else []
        self._extend(prefetch, offsets, 0)
        return bool(offsets)

    def _ask_lower(self, prefetch: _Prefetch) -> bool:
        """Begin to fetch the remaining keys from the lower tiers. Return False if no fetch was begun."""
        if not prefetch.rest:
            return False
        if not self._lower.available:
            self._lower.note_unanswered(prefetch.rest[:1])
            return False
        prefetch.fetch = self.memory.fetch(prefetch.rest)
        return True

    def _extend(self, prefetch: _Prefetch, offsets: Sequence[int], num_below: int) -> None:
        """Add a run of locked blocks, of which the last `num_below` came from the lower tiers."""
        keys, num_cpu = prefetch.rest[: len(offsets)], len(offsets) - num_below
        prefetch.slots += map(HostSlot, keys, offsets)
        prefetch.sources += [CPU.id] * num_cpu
        prefetch.sources += [self._lower.source_of(key) for key in keys[num_cpu:]]
        del prefetch.rest[: len(offsets)]

    def release(self, keys: Sequence[BlockKey]) -> None:
        """See KVTierStore. Raise ValueError for a key that is not locked."""
        self._book.release(keys)
        self.memory.unlock(keys)

    # Use, eviction and erasure

    def touch(self, chain: Sequence[BlockKey], num_found: int, marked: range) -> None:
        """See KVTierStore."""
        self._evictions.index.touch(chain, num_found, marked)
        self._lower.renew(chain)

    def protect(self, chain: Sequence[BlockKey]) -> None:
        """See KVTierStore."""
        self._evictions.index.protect(chain)

    def clear_cpu(self) -> bool:
        """See KVTierStore."""
        is_empty = self.memory.clear()
        deferred = self._evictions.deferred
        deferred.forget([key for key in deferred.oldest(len(deferred)) if not self.memory.contains(key)])
        return is_empty

    def erase(self, keys: Sequence[BlockKey]) -> list[BlockKey]:
        """See KVTierStore.

        The memory keeps a block until its writes to the lower tiers have ended, so no write of a dropped block can be
        in flight.
        """
        self._evictions.deferred.forget(keys)
        arriving = {key for prefetch in self._prefetches.values() if prefetch.fetch for key in prefetch.rest}
        stay = {*self.memory.drop([key for key in keys if key not in arriving])} | arriving
        busy = [key for key in keys if key in stay]
        if gone := sorted({*keys}.difference(busy)):
            batch = self._erased.open()
            self._lower.erase(gone, lambda erased: self._erased.put(batch, (gone, erased)))
        return busy

    def poll_erased(self) -> list[tuple[Sequence[BlockKey], bool]]:
        """See KVTierStore."""
        return list(self._erased.take_all().values())

    # Promises

    def promise(self, keys: Sequence[BlockKey], terms: PromiseTerms) -> int:
        """See KVTierStore."""
        handle = self._promised.open()
        self._lower.promise(keys, terms, lambda promised: self._promised.put(handle, promised))
        return handle

    def poll_promise(self, handle: int) -> Promised | None:
        """See KVTierStore."""
        return self._promised.take(handle)

    # The store as a whole

    def abandon(self) -> list[int]:
        """See KVTierStore."""
        reserved, locked = self._book.take_back()
        self.memory.discard(reserved)
        for key in locked:
            self.memory.unlock([key])
        return list(self._prefetches)

    def stats(self) -> StoreStats:
        """See KVTierStore."""
        # A staging pool is not a tier.
        used, capacity = self.memory.usage if self.keeps_in_cpu else (0, 0)
        held = self._evictions.index.held if self.keeps_in_cpu else {}
        cpu = CPUTierStats(
            used_bytes=used,
            capacity_bytes=capacity,
            evicted_blocks=self._evictions.num_evicted,
            lost_blocks=self._evictions.num_lost,
            held_blocks=held,
            deferred_blocks=len(self._evictions.deferred),
            dropped_blocks=self._evictions.deferred.num_dropped,
        )
        return StoreStats(cpu, self._lower.stats())

    def check(self) -> None:
        """Raise AssertionError for what `leak_check` finds, or if the memory's own records contradict each other."""
        complete(self.leak_check())
        self.memory.check()

    def leak_check(self) -> LeakCheck:
        """See KVTierStore."""
        self._book.check()
        assert not self._prefetches, f"the results of {len(self._prefetches)} prefetches were never collected"
        locked = yield from self.memory.find_locked()
        # LMCache locks the blocks of a write before it counts the write, on a separate thread, so a single look may
        # come in between.
        for _ in range(_LOOKS_AT_LOCKS):
            if self._later.num_writing or not self.memory.are_locked(locked):
                return
            yield _BETWEEN_LOOKS_SECONDS
        raise AssertionError("read locks without a reader")

    def flush(self, timeout: float) -> bool:
        """See KVTierStore. Also return False if a lower tier refused or lost a block while the caller waited."""
        return self._later.flush(timeout)

    def close(self) -> None:
        """See KVTierStore. The pool is freed: no view of it may be used afterwards."""
        self._lower.close()
        self.memory.close()
