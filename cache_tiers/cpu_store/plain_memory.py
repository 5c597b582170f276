"""Host memory that Ebb manages itself: one arena, one lock, and a table of the blocks in it."""

import threading
from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from heapq import heappop, heappush
from mmap import PAGESIZE

from cache_tiers.cpu_store.block_memory import Evictions, Fetched, MemoryKind, MemoryOptions, NoRoomError
from cache_tiers.cpu_store.plain_arena import Arena, open_arena
from cache_tiers.leak_check import PIECE
from cache_tiers.lower.block import Block
from cache_tiers.lower.tiers import LowerTiers
from cache_tiers.owners.block_key import BlockKey, owner_of


class _State(Enum):
    """A slot is filled by the caller or by a lower tier, and readable from then on."""

    WRITING = auto()
    ARRIVING = auto()
    READABLE = auto()


@dataclass(slots=True)
class _Slot:
    """A block's place in the arena.

    readers: number of read locks.
    writes: number of writes to the lower tiers in flight.
    """

    offset: int
    state: _State
    readers: int = 0
    writes: int = 0

    @property
    def is_idle(self) -> bool:
        """Whether the slot may be freed."""
        return self.state is _State.READABLE and not self.readers and not self.writes


@dataclass(slots=True)
class _Fetch:
    """A load of the leading run of `keys`.

    num_loaded: length of the run that has arrived and is read-locked; None before.
    """

    keys: Sequence[BlockKey]
    take: Callable[["_Fetch"], Fetched | None]
    num_loaded: int | None = None

    def result(self) -> Fetched | None:
        """See Fetch."""
        return self.take(self)


class PlainMemory:
    """BlockMemory without LMCache.

    The lower tiers call back on their own threads. Locks are taken in this order: that of this class, of the eviction
    index, of the lower tiers. No lower tier is called to read or write with the lock held, because it may call back at
    once.
    """

    def __init__(self, arena: Arena, options: MemoryOptions, lower: LowerTiers, evictions: Evictions) -> None:
        self.arena = arena
        self.shared_pool = arena.shared_pool
        self._block_nbytes = options.block_nbytes
        self._keeps_blocks = options.keeps_blocks
        self._lower = lower
        self._evictions = evictions
        # Direct reads from a disk need whole pages.
        self._slot_nbytes = -(-options.block_nbytes // PAGESIZE) * PAGESIZE
        # A heap, so that the free slot with the lowest address is taken: the arena grows from its beginning.
        self._free = list(range(0, options.nbytes - self._slot_nbytes + 1, self._slot_nbytes))
        self._num_slots = len(self._free)
        self._slots: dict[BlockKey, _Slot] = {}
        self._lock = threading.Lock()
        self._waiting: deque[_Fetch] = deque()
        self._num_loading = 0
        self._begins = False
        self._most_loading = options.max_fetches

    @property
    def pool(self) -> memoryview:
        """See BlockMemory."""
        return self.arena.view

    @property
    def usage(self) -> tuple[int, int]:
        """See BlockMemory."""
        return len(self._slots) * self._slot_nbytes, self.arena.view.nbytes

    def contains(self, key: BlockKey) -> bool:
        """See BlockMemory."""
        slot = self._slots.get(key)
        return slot is not None and slot.state is _State.READABLE

    # Writes

    def reserve(self, key: BlockKey) -> int | None:
        """See BlockMemory."""
        with self._lock:
            return None if key in self._slots else self._take_slot(key, _State.WRITING).offset

    def commit(self, keys: Sequence[BlockKey], *, deferred: bool = False) -> None:
        """See BlockMemory. Each block is written singly, so that it can be evicted as soon as it has been written."""
        num_writes = 1 if self._lower.tiers and not deferred else 0
        with self._lock:
            if deferred:
                self._evictions.deferred.defer(keys, had_turn=True)
            slots = [self._slots[key] for key in keys]
            for slot in slots:
                slot.state = _State.READABLE
                slot.writes = num_writes
            self._evictions.index.insert(keys)
        if num_writes:
            for key, slot in zip(keys, slots, strict=True):
                self._lower.put([self._block(key, slot)], partial(self._on_written, key))

    def _on_written(self, key: BlockKey, _stored: bool) -> None:
        with self._lock:
            slot = self._slots[key]
            slot.writes -= 1
            self._let_go(key, slot)

    def discard(self, keys: Sequence[BlockKey]) -> None:
        """See BlockMemory."""
        with self._lock:
            for key in keys:
                self._free_slot(key)

    # Reads

    def lock_run(self, keys: Sequence[BlockKey]) -> list[int]:
        """See BlockMemory."""
        offsets = []
        with self._lock:
            for key in keys:
                slot = self._slots.get(key)
                if slot is None or slot.state is not _State.READABLE:
                    break
                slot.readers += 1
                offsets.append(slot.offset)
        return offsets

    def lock(self, keys: Sequence[BlockKey]) -> list[Block]:
        """See BlockMemory."""
        with self._lock:
            found = [(key, self._slots[key]) for key in keys if self.contains(key)]
            for _, slot in found:
                slot.readers += 1
        return [self._block(key, slot) for key, slot in found]

    def unlock(self, keys: Sequence[BlockKey]) -> None:
        """See BlockMemory."""
        with self._lock:
            for key in keys:
                slot = self._slots[key]
                slot.readers -= 1
                self._let_go(key, slot)

    def fetch(self, keys: Sequence[BlockKey]) -> _Fetch:
        """See BlockMemory. A few fetches are in flight at once. The others wait for their turn."""
        fetch = _Fetch(list(keys), self._take_fetched)
        with self._lock:
            self._waiting.append(fetch)
        self._begin_fetches()
        return fetch

    def _begin_fetches(self) -> None:
        """Begin the next fetches, unless a caller of this method is about to: a fetch may end before `find` returns."""
        with self._lock:
            if self._begins:
                return
            self._begins = True
        while (fetch := self._next_fetch()) is not None:
            self._lower.find(fetch.keys, partial(self._on_found, fetch))

    def _next_fetch(self) -> _Fetch | None:
        with self._lock:
            if not self._waiting or self._num_loading == self._most_loading:
                self._begins = False
                return None
            self._num_loading += 1
            return self._waiting.popleft()

    def _on_found(self, fetch: _Fetch, found: Sequence[bool]) -> None:
        """Load the run that was found, up to a block that has a slot already or that there is no room for."""
        blocks = []
        with self._lock:
            for key, is_there in zip(fetch.keys, found, strict=True):
                if not is_there or key in self._slots:
                    break
                try:
                    slot = self._take_slot(key, _State.ARRIVING)
                except NoRoomError:
                    break
                blocks.append(self._block(key, slot))
        if blocks:
            self._lower.load(blocks, partial(self._on_loaded, fetch))
        else:
            self._on_loaded(fetch, [])

    def _on_loaded(self, fetch: _Fetch, outcomes: Sequence[bool]) -> None:
        """Publish the blocks that have arrived. Blocks after the first gap stay for others, if blocks stay at all."""
        run = [*outcomes, False].index(False)
        with self._lock:
            for index, (key, is_there) in enumerate(zip(fetch.keys, outcomes, strict=False)):
                if is_there:
                    slot = self._slots[key]
                    slot.state = _State.READABLE
                    slot.readers = 1 if index < run else 0
                    self._evictions.index.insert([key])
                    self._let_go(key, slot)
                else:
                    self._free_slot(key)
            fetch.num_loaded = run
            self._num_loading -= 1
        self._begin_fetches()

    def _take_fetched(self, fetch: _Fetch) -> Fetched | None:
        """Return the run of a fetch. If another fetch loads the block after it, wait until that one has ended."""
        with self._lock:
            run = fetch.num_loaded
            if run is None:
                return None
            following = self._slots.get(fetch.keys[run]) if run < len(fetch.keys) else None
            if following is not None and following.state is _State.ARRIVING:
                return None
            return Fetched([self._slots[key].offset for key in fetch.keys[:run]], run)

    # Removal

    def drop(self, keys: Sequence[BlockKey]) -> list[BlockKey]:
        """See BlockMemory."""
        busy, gone = [], []
        with self._lock:
            for key in keys:
                slot = self._slots.get(key)
                if slot is None:
                    continue
                if slot.is_idle:
                    gone.append(key)
                    self._free_slot(key)
                else:
                    busy.append(key)
            self._evictions.index.remove(gone)
        return busy

    def clear(self) -> bool:
        """See BlockMemory."""
        return not self.drop(list(self._slots))

    def find_locked(self) -> Generator[float, None, Sequence[BlockKey]]:
        """See BlockMemory."""
        with self._lock:
            slots = list(self._slots.items())
        locked = []
        for visited, (key, slot) in enumerate(slots, 1):
            assert slot.state is _State.READABLE, f"a slot without an owner is {slot.state.name.lower()}"
            if slot.readers:
                locked.append(key)
            if visited % PIECE == 0:
                yield 0.0
        return locked

    def are_locked(self, keys: Sequence[BlockKey]) -> bool:
        """See BlockMemory."""
        with self._lock:
            return any((slot := self._slots.get(key)) is not None and slot.readers for key in keys)

    def check(self) -> None:
        """See BlockMemory."""
        with self._lock:
            offsets = [*self._free, *(slot.offset for slot in self._slots.values())]
        assert len(offsets) == len({*offsets}) == self._num_slots, "slots were lost or handed out twice"

    def close(self) -> None:
        """See BlockMemory."""
        self.arena.close()

    # Slots. The caller holds the lock.

    def _take_slot(self, key: BlockKey, state: _State) -> _Slot:
        """Give a block a slot, evicting another block if needed. Raise NoRoomError."""
        if not self._free:
            victims = self._evictions.index.pick(1, self._can_go, owner_of(key))
            for victim in victims:
                self._free_slot(victim)
            self._evictions.note(victims)
        if not self._free:
            raise NoRoomError
        slot = self._slots[key] = _Slot(heappop(self._free), state)
        self.arena.use(slot.offset + self._slot_nbytes)
        return slot

    def _free_slot(self, key: BlockKey) -> None:
        heappush(self._free, self._slots.pop(key).offset)

    def _can_go(self, key: BlockKey) -> bool:
        slot = self._slots.get(key)
        return slot is not None and slot.is_idle

    def _let_go(self, key: BlockKey, slot: _Slot) -> None:
        """Free a slot that has passed its block on, if blocks do not stay."""
        if not self._keeps_blocks and slot.is_idle:
            self._evictions.index.remove([key])
            self._free_slot(key)

    def _block(self, key: BlockKey, slot: _Slot) -> Block:
        return Block(key, self.arena.view[slot.offset : slot.offset + self._block_nbytes])


def _open(options: MemoryOptions, lower: LowerTiers, evictions: Evictions) -> PlainMemory:
    return PlainMemory(open_arena(options.nbytes, shared=options.shared), options, lower, evictions)


PLAIN = MemoryKind("Ebb's own store", _open)
