"""A tier store that holds token ids instead of bytes, as the worker in `toys` does."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from cache_tiers.cpu.eviction import LeastRecentlyUsed
from cache_tiers.cpu.eviction_index import EvictionIndex
from cache_tiers.leak_check import LeakCheck
from cache_tiers.lower.link_speed import LinkSpeed
from cache_tiers.lower.misses import TierMiss, TierMissReason
from cache_tiers.lower.promise import Promised, PromiseEnd, PromiseTerms
from cache_tiers.lower.tier import LowerTierStats
from cache_tiers.owners.block_key import BlockKey, Owner, owner_of
from cache_tiers.owners.owners import Owners
from cache_tiers.owners.shares import MemoryShares
from cache_tiers.redis.backend import REDIS
from cache_tiers.store import CPUTierStats, HostSlot, PrefetchResult, StoreStats
from cache_tiers.tier import CPU, TierId

Slots = list[int | None]


@dataclass
class _Pending:
    keys: list[BlockKey]
    redis: bool
    ticks: int


@dataclass
class ToyStore:
    """KVTierStore over dictionaries.

    capacity: blocks that fit in host memory.
    latency: polls until a prefetch or a lookup that needs Redis has a result.
    speed: claimed speed of the link to Redis.
    known: keys that the store believes to be in Redis.
    has_redis: whether there is a Redis, up or not.
    refuses: find no free slot in host memory.
    answers: results of erasures that were not polled yet.
    uses: arguments of each call of `touch`.
    promised: keys that are promised, each of which takes one of the reserved bytes.
    is_silent: give no answer to promises.
    """

    capacity: int
    latency: int = 0
    max_window: int = 8
    speed: LinkSpeed = field(default_factory=LinkSpeed)
    known: set[BlockKey] = field(default_factory=set)
    look_ups: dict[int, _Pending] = field(default_factory=dict)
    redis_up: bool = True
    has_redis: bool = True
    refuses: bool = False
    pending_writes: int = 0
    host: dict[int, Slots] = field(default_factory=dict)
    ready: dict[BlockKey, int] = field(default_factory=dict)
    reserved: dict[BlockKey, int] = field(default_factory=dict)
    locks: dict[BlockKey, int] = field(default_factory=dict)
    redis: dict[BlockKey, Slots] = field(default_factory=dict)
    deferred: set[BlockKey] = field(default_factory=set)
    pending: dict[int, _Pending] = field(default_factory=dict)
    handles: int = 0
    answers: list[tuple[Sequence[BlockKey], bool]] = field(default_factory=list)
    uses: list[tuple[tuple[BlockKey, ...], int, range]] = field(default_factory=list)
    promised: set[BlockKey] = field(default_factory=set)
    is_silent: bool = False
    promises: dict[int, Promised] = field(default_factory=dict)
    eviction_index: EvictionIndex = field(
        default_factory=lambda: EvictionIndex(LeastRecentlyUsed, MemoryShares(Owners(), clock=lambda: 0.0))
    )

    @property
    def pool(self) -> memoryview:
        return memoryview(bytearray())

    def _free_offset(self, owner: Owner) -> int | None:
        if self.refuses:
            return None
        used = set(self.ready.values()) | set(self.reserved.values())
        for offset in range(self.capacity):
            if offset not in used:
                return offset
        victims = self.eviction_index.pick(1, lambda key: not self.locks.get(key), owner)
        return self.ready.pop(victims[0]) if victims else None

    def _put(self, key: BlockKey, offset: int) -> None:
        self.ready[key] = offset
        self.eviction_index.insert([key])

    def reserve(self, keys: Sequence[BlockKey]) -> list[HostSlot]:
        slots, refused = [], set[Owner]()
        for key in keys:
            if key in self.ready or key in self.reserved or owner_of(key) in refused:
                continue
            offset = self._free_offset(owner_of(key))
            if offset is None:
                refused.add(owner_of(key))
                continue
            self.reserved[key] = offset
            slots.append(HostSlot(key, offset))
        return slots

    def contains(self, key: BlockKey) -> bool:
        return key in self.ready

    def commit(self, keys: Sequence[BlockKey], *, deferred: bool = False) -> None:
        for key in keys:
            self._put(key, self.reserved.pop(key))
            self.deferred.add(key)
        if not deferred:
            self.admit(keys)

    @property
    def num_deferred(self) -> int:
        return len(self.deferred & self.ready.keys())

    def admit(self, keys: Sequence[BlockKey]) -> None:
        for key in self.deferred.intersection(keys):
            self.deferred.remove(key)
            if self.has_redis and self.redis_up and key in self.ready:
                self.redis[key] = list(self.host[self.ready[key]])

    def write_deferred(self) -> None:
        self.admit(list(self.deferred))

    def discard(self, keys: Sequence[BlockKey]) -> None:
        for key in keys:
            del self.reserved[key]

    def link_speed(self, keys: Sequence[BlockKey] = ()) -> LinkSpeed | None:
        return self.speed if self.has_redis and self.redis_up else None

    def place_below(self, key: BlockKey) -> TierId | None:
        return REDIS.id if key in self.known else None

    def source_of(self, key: BlockKey) -> TierId:
        return REDIS.id

    def num_known_below(self, keys: Sequence[BlockKey]) -> int:
        return next((index for index, key in enumerate(keys) if key not in self.known), len(keys))

    def look_up(self, keys: Sequence[BlockKey]) -> int:
        self.handles += 1
        self.look_ups[self.handles] = _Pending(list(keys), True, self.latency)
        return self.handles

    def poll_look_up(self, handle: int) -> int | None:
        pending = self.look_ups[handle]
        if pending.ticks > 0:
            pending.ticks -= 1
            return None
        del self.look_ups[handle]
        there = self.redis if self.redis_up else {}
        found = next((i for i, key in enumerate(pending.keys) if key not in there), len(pending.keys))
        self.known.update(key for key in pending.keys if key in there)
        return found

    def prefetch(self, keys: Sequence[BlockKey], *, lower: bool) -> int:
        self.handles += 1
        in_cpu = all(key in self.ready for key in keys)
        self.pending[self.handles] = _Pending(list(keys), lower and self.has_redis, 0 if in_cpu else self.latency)
        return self.handles

    def poll(self, handle: int) -> PrefetchResult | None:
        pending = self.pending[handle]
        if pending.ticks > 0:
            pending.ticks -= 1
            return None
        del self.pending[handle]
        slots, sources = list[HostSlot](), list[TierId]()
        for key in pending.keys:
            was_ready = key in self.ready
            if not was_ready and not (pending.redis and self.redis_up and key in self.redis and self._fetch(key)):
                break
            self.locks[key] = self.locks.get(key, 0) + 1
            slots.append(HostSlot(key, self.ready[key]))
            sources.append(CPU.id if was_ready else REDIS.id)
        return PrefetchResult(tuple(slots), tuple(sources))

    def _fetch(self, key: BlockKey) -> bool:
        if key in self.reserved or (offset := self._free_offset(owner_of(key))) is None:
            return False
        self.host[offset] = list(self.redis[key])
        self._put(key, offset)
        return True

    def miss_of(self, key: BlockKey) -> TierMiss:
        if not self.has_redis:
            return TierMiss(TierMissReason.OFF)
        return TierMiss(TierMissReason.UNKNOWN_KEY, tier=REDIS.name, gone_from=(REDIS.id,))

    def release(self, keys: Sequence[BlockKey]) -> None:
        for key in keys:
            assert self.locks[key] > 0, "a key was released more often than locked"
            self.locks[key] -= 1

    @property
    def keeps_in_cpu(self) -> bool:
        return True

    def promise(self, keys: Sequence[BlockKey], terms: PromiseTerms) -> int:
        self.handles += 1
        there = self.redis if self.redis_up else {}
        found = next((index for index, key in enumerate(keys) if key not in there), len(keys))
        room = terms.reserved_bytes - len(self.promised.difference(keys))
        self.promised.update(keys[: min(found, room)])
        end: PromiseEnd | None = "no_room" if room < found else "absent" if found < len(keys) else None
        self.promises[self.handles] = Promised(min(found, room), end)
        return self.handles

    def poll_promise(self, handle: int) -> Promised | None:
        return self.promises.pop(handle) if not self.is_silent else None

    def touch(self, chain: Sequence[BlockKey], num_found: int, marked: range) -> None:
        assert 0 <= num_found <= len(chain)
        self.uses.append((tuple(chain), num_found, marked))

    def protect(self, chain: Sequence[BlockKey]) -> None:
        pass

    def write_missed(self, *, begin: bool) -> bool:
        return False

    def clear_cpu(self) -> bool:
        self.eviction_index.remove([key for key in self.ready if not self.locks.get(key)])
        self.ready = {key: offset for key, offset in self.ready.items() if self.locks.get(key)}
        return not self.ready and not self.reserved

    def erase(self, keys: Sequence[BlockKey]) -> list[BlockKey]:
        busy = [key for key in keys if key in self.reserved or self.locks.get(key)]
        for key in {*keys}.difference(busy):
            self.ready.pop(key, None)
            self.eviction_index.remove([key])
            if self.redis_up:
                self.redis.pop(key, None)
        self.answers.append(([key for key in keys if key not in busy], self.redis_up or not self.has_redis))
        return busy

    def poll_erased(self) -> list[tuple[Sequence[BlockKey], bool]]:
        answers, self.answers = self.answers, []
        return answers

    def abandon(self) -> list[int]:
        self.reserved.clear()
        self.locks.clear()
        return list(self.pending)

    def stats(self) -> StoreStats:
        redis = LowerTierStats(tier=REDIS, state="ok" if self.has_redis else "off", pending_writes=self.pending_writes)
        return StoreStats(CPUTierStats(used_bytes=len(self.ready), capacity_bytes=self.capacity), {REDIS.id: redis})

    def leak_check(self) -> LeakCheck:
        yield 0.0
        assert not any(self.locks.values()), "a read lock has no owner"
        assert not self.reserved, "a reserved slot has no owner"
        assert self.eviction_index.held == Counter(map(owner_of, self.ready)), (
            "an owner is charged for blocks that are not stored"
        )

    def flush(self, timeout: float) -> bool:
        return True

    def close(self) -> None:
        pass
