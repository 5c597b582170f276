"""A store of small blocks whose bytes follow from their keys, and the operations that tests perform on it."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from cache_tiers.cpu_store.block_memory import MemoryKind
from cache_tiers.cpu_store.open_store import INSTALLED, open_store
from cache_tiers.cpu_store.plain_memory import PLAIN
from cache_tiers.cpu_store.tier_store import TierStore
from cache_tiers.lower.async_tier import AsyncTier
from cache_tiers.lower.backend import TierClient
from cache_tiers.lower.sealed_value import FINGERPRINT_BYTES, BlockSeal
from cache_tiers.lower.tier import LowerTierOptions
from cache_tiers.owners.block_key import OWNER_BYTES, BlockKey
from cache_tiers.owners.owners import Owners
from cache_tiers.redis.address import RedisAddress
from cache_tiers.redis.backend import REDIS, RedisBackend
from cache_tiers.store import PrefetchResult, StoreStats
from tests.waiting import until

BLOCK = 64 << 10
POOL = 16 << 20
SECRET = b"the secret of the tests, 32 bytes"
SEAL = BlockSeal(SECRET, bytes(FINGERPRINT_BYTES))
CLIENT = TierClient(SEAL.fingerprint, Owners())

# Ebb's own memory alone where LMCache is not installed.
on_each_memory = pytest.mark.parametrize(
    "memory_kind", dict.fromkeys([INSTALLED, PLAIN]), ids=lambda kind: kind.name.split()[0]
)
"""A mark for tests that use `memory_kind`, as the fixture `rigs` does."""


def key(number: int, owner: bytes = b"somebody") -> BlockKey:
    """Make the key of an owner's block `number`."""
    return BlockKey(owner + hashlib.sha256(b"block %d" % number).digest()[: 32 - OWNER_BYTES])


def keys(numbers: range, owner: bytes = b"somebody") -> list[BlockKey]:
    """Make the keys of an owner's blocks `numbers`."""
    return [key(number, owner) for number in numbers]


def payload(name: BlockKey) -> bytes:
    """Make the bytes of a block. They contain no repetition, so that every mix-up is detected."""
    return hashlib.shake_128(name).digest(BLOCK)


def redis_tier(address: RedisAddress, max_write_bytes: int, *, block_nbytes: int = BLOCK, **options: Any) -> AsyncTier:
    """Open the tier of a Redis. options: those of RedisBackend."""
    return AsyncTier(RedisBackend(address, **options), LowerTierOptions(block_nbytes, max_write_bytes, SEAL, Owners()))


@dataclass
class Rig:
    """One open store. Every method releases what it reserves or locks, so that `store.check()` must pass at the end."""

    store: TierStore

    def put(self, names: Sequence[BlockKey], *, deferred: bool = False) -> list[BlockKey]:
        """Write blocks as the engine would. Return the keys that the store accepted."""
        slots = self.store.reserve(names)
        for slot in slots:
            self.store.pool[slot.offset : slot.offset + BLOCK] = payload(slot.key)
        taken = [slot.key for slot in slots]
        self.store.commit(taken, deferred=deferred)
        return taken

    def fetch(self, names: Sequence[BlockKey], *, lower: bool = True, timeout: float = 20.0) -> PrefetchResult:
        """Prefetch blocks, compare every byte, and release them."""
        result = self.wait(self.store.prefetch(names, lower=lower), timeout=timeout)
        assert [slot.key for slot in result.slots] == list(names[: len(result.slots)])
        assert len(result.sources) == len(result.slots)
        for slot in result.slots:
            assert self.store.pool[slot.offset : slot.offset + BLOCK] == payload(slot.key), "a block has wrong bytes"
        self.store.release([slot.key for slot in result.slots])
        return result

    def counts(self, names: Sequence[BlockKey], *, lower: bool = True) -> tuple[int, int]:
        """Prefetch a run of blocks and count its blocks by source: (from CPU, from Redis)."""
        sources = self.fetch(names, lower=lower).sources
        return sources.count("cpu"), sources.count("redis")

    def wait(self, handle: int, *, timeout: float = 20.0) -> PrefetchResult:
        """Wait for the result of a prefetch."""
        return until(lambda: self.store.poll(handle), timeout=timeout)

    def until_stats(self, condition: Callable[[StoreStats], bool]) -> StoreStats:
        """Wait for statistics that satisfy `condition`, and return them."""
        return until(lambda: stats if condition(stats := self.store.stats()) else None)


@dataclass
class Rigs:
    """Factory of stores.

    end: closes a store, possibly in the background.
    kind: manages host memory.
    opened: the stores that are open.
    """

    end: Callable[[TierStore], object] = TierStore.close
    kind: MemoryKind = INSTALLED
    opened: list[TierStore] = field(default_factory=list)

    def open(
        self, redis: RedisAddress | None, *, cpu_bytes: int = POOL, keep_in_cpu: bool = True, seal: BlockSeal = SEAL
    ) -> Rig:
        """Open a store of 64 KiB blocks. The default pool holds 256 of them."""
        store = open_store(
            block_nbytes=BLOCK,
            cpu_bytes=cpu_bytes,
            lower=[RedisBackend(redis)] if redis is not None else [],
            off=[REDIS] if redis is None else [],
            seal=seal,
            keep_in_cpu=keep_in_cpu,
            eviction="lru",
            kind=self.kind,
        )
        self.opened.append(store)
        return Rig(store)

    def close(self, rig: Rig) -> None:
        """Close a store before the end of the test."""
        self.opened.remove(rig.store)
        self.end(rig.store)
