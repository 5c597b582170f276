"""A store of small blocks whose bytes are known from their number, and the moves that tests make with it."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from cache_tiers.block_key import OWNER_BYTES, BlockKey
from cache_tiers.lmcache_store import LMCacheStore, open_store
from cache_tiers.redis.address import RedisAddress
from cache_tiers.redis.value import FINGERPRINT_BYTES, BlockSeal
from cache_tiers.store import PrefetchResult, StoreStats
from tests.waiting import until

BLOCK = 64 << 10
POOL = 16 << 20
SECRET = b"the secret of the tests, 32 bytes"
SEAL = BlockSeal(SECRET, bytes(FINGERPRINT_BYTES))


def key(number: int, owner: bytes = b"somebody") -> BlockKey:
    """Name block `number` of an owner."""
    return BlockKey(owner + hashlib.sha256(b"block %d" % number).digest()[: 32 - OWNER_BYTES])


def keys(numbers: range, owner: bytes = b"somebody") -> list[BlockKey]:
    """Name some blocks of an owner."""
    return [key(number, owner) for number in numbers]


def payload(name: BlockKey) -> bytes:
    """The bytes of a block: nothing about them repeats, so that no mix-up goes unseen."""
    return hashlib.shake_128(name).digest(BLOCK)


@dataclass
class Rig:
    """One open store. Everything it gives out it takes back, so that `store.check()` must pass at the end."""

    store: LMCacheStore

    def put(self, names: Sequence[BlockKey]) -> list[BlockKey]:
        """Write blocks as the engine would; returns those that the store took."""
        slots = self.store.reserve(names)
        for slot in slots:
            self.store.pool[slot.offset : slot.offset + BLOCK] = payload(slot.key)
        taken = [slot.key for slot in slots]
        self.store.commit(taken)
        return taken

    def fetch(self, names: Sequence[BlockKey], *, redis: bool = True, timeout: float = 20.0) -> PrefetchResult:
        """Prefetch, compare every byte, release."""
        result = self.wait(self.store.prefetch(names, redis=redis), timeout=timeout)
        assert [slot.key for slot in result.slots] == list(names[: len(result.slots)])
        assert result.from_cpu + result.from_redis == len(result.slots)
        for slot in result.slots:
            assert self.store.pool[slot.offset : slot.offset + BLOCK] == payload(slot.key), "a wrong byte"
        self.store.release([slot.key for slot in result.slots])
        return result

    def counts(self, names: Sequence[BlockKey], *, redis: bool = True) -> tuple[int, int]:
        """How many of a run came from where: (from CPU, from Redis)."""
        result = self.fetch(names, redis=redis)
        return result.from_cpu, result.from_redis

    def wait(self, handle: int, *, timeout: float = 20.0) -> PrefetchResult:
        """The result of a prefetch."""
        return until(lambda: self.store.poll(handle), timeout=timeout)

    def until_stats(self, condition: Callable[[StoreStats], bool]) -> StoreStats:
        """The first statistics that satisfy `condition`."""
        return until(lambda: stats if condition(stats := self.store.stats()) else None)


@dataclass
class Rigs:
    """Opens stores, and knows which are open. end: closes one, perhaps later."""

    end: Callable[[LMCacheStore], object] = LMCacheStore.close
    opened: list[LMCacheStore] = field(default_factory=list)

    def open(
        self, redis: RedisAddress | None, *, cpu_bytes: int = POOL, keep_in_cpu: bool = True, seal: BlockSeal = SEAL
    ) -> Rig:
        """A store of 64 KiB blocks: 256 of them fit the default pool."""
        store = open_store(
            block_nbytes=BLOCK,
            cpu_bytes=cpu_bytes,
            redis_address=redis,
            seal=seal,
            keep_in_cpu=keep_in_cpu,
            eviction="lru",
        )
        self.opened.append(store)
        return Rig(store)

    def close(self, rig: Rig) -> None:
        """End one before the end of the test."""
        self.opened.remove(rig.store)
        self.end(rig.store)
