"""Host memory that Ebb manages itself does exactly what host memory on LMCache does."""

import random
from collections.abc import Callable

import pytest

from cache_tiers.cpu_store.open_store import INSTALLED, open_store
from cache_tiers.cpu_store.plain_memory import PLAIN
from cache_tiers.cpu_store.tier_store import TierStore
from cache_tiers.owners.block_key import BlockKey
from tests.store_rig import SEAL, keys

SLOTS = 12
CHAINS = [keys(range(10 * chain, 10 * chain + 8), owner) for chain in range(3) for owner in (b"somebody", b"another.")]


@pytest.mark.skipif(INSTALLED is PLAIN, reason="LMCache is not installed")
@pytest.mark.parametrize("seed", range(8))
def test_any_use_has_the_same_outcome(seed: int) -> None:
    random_source, outcomes = random.Random(seed), list[list[object]]()
    uses = [draw(random_source) for _ in range(150)]
    for kind in (INSTALLED, PLAIN):
        store = open_store(
            block_nbytes=4096,
            cpu_bytes=SLOTS * 4096,
            lower=[],
            seal=SEAL,
            keep_in_cpu=True,
            eviction="returning",
            kind=kind,
        )
        user = User(store)
        outcomes.append([use(user) for use in uses])
        user.give_back()
        store.check()
        store.close()
    assert outcomes[0] == outcomes[1]


class User:
    """Someone who keeps reservations and locks for a while."""

    def __init__(self, store: TierStore) -> None:
        self.store = store
        self.reserved: list[BlockKey] = []
        self.locked: list[BlockKey] = []

    def reserve(self, chain: list[BlockKey]) -> object:
        taken = [slot.key for slot in self.store.reserve(chain)]
        self.reserved += taken
        return taken

    def end_writes(self, count: int, *, commit: bool) -> object:
        some, self.reserved = self.reserved[:count], self.reserved[count:]
        self.store.commit(some) if commit else self.store.discard(some)
        return self.state()

    def read(self, chain: list[BlockKey]) -> object:
        result = self.store.poll(self.store.prefetch(chain, lower=False))
        assert result is not None
        self.locked += [slot.key for slot in result.slots]
        return result.sources

    def release(self, count: int) -> object:
        some, self.locked = self.locked[:count], self.locked[count:]
        self.store.release(some)
        return self.state()

    def give_back(self) -> object:
        assert self.store.abandon() == []
        self.reserved, self.locked = [], []
        return self.state()

    def state(self) -> object:
        """Return what the store says of itself, and which blocks it has."""
        cpu = self.store.stats().cpu
        return cpu, [self.store.contains(key) for chain in CHAINS for key in chain]


def draw(source: random.Random) -> Callable[[User], object]:
    """Draw one use of a store."""
    chain = source.choice(CHAINS)
    part, count, found = chain[: source.randrange(1, 9)], source.randrange(1, 9), source.randrange(9)
    return source.choice(
        [
            lambda user: user.reserve(part),
            lambda user: user.reserve(part),
            lambda user: user.end_writes(count, commit=True),
            lambda user: user.end_writes(count, commit=True),
            lambda user: user.end_writes(count, commit=False),
            lambda user: user.read(part),
            lambda user: user.read(part),
            lambda user: user.release(count),
            lambda user: user.release(count),
            lambda user: user.store.touch(part, min(found, len(part)), range(0)),
            lambda user: user.store.protect(part),
            lambda user: user.store.erase(part),
            lambda user: user.store.clear_cpu() if count == 1 else None,
            lambda user: user.give_back() if count == 1 else None,
        ]
    )
