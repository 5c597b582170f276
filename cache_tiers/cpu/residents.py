"""Which blocks are in the CPU tier, and the order in which they would leave it."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby

from cache_tiers.block_key import BlockKey, Owner, owner_of
from cache_tiers.cpu.eviction import EvictionPolicy
from cache_tiers.shares import MemoryShares


class Residents:
    """Shared fairly by their owners (`shares`, in blocks), each of which has an order of its own.

    Thread-safe: LMCache tells of comings and goings from its own threads, with its lock held. So nothing here calls
    LMCache with this lock held. A block that was given to a caller as a victim is no resident any more.
    """

    def __init__(self, make_policy: Callable[[], EvictionPolicy], shares: MemoryShares) -> None:
        self._make_policy = make_policy
        self._policies: dict[Owner, EvictionPolicy] = {}
        self._shares = shares
        self._lock = threading.Lock()

    @property
    def held(self) -> Mapping[Owner, int]:
        """How many blocks each owner has here."""
        with self._lock:
            return self._shares.held

    def came(self, keys: Sequence[BlockKey]) -> None:
        """Add blocks that are readable from now on."""
        with self._lock:
            for key in keys:
                owner = owner_of(key)
                policy = self._policies.get(owner)
                if policy is None:
                    policy = self._policies[owner] = self._make_policy()
                if policy.add(key):
                    self._shares.take(owner)
                    self._shares.enter(owner)

    def went(self, keys: Sequence[BlockKey]) -> None:
        """Remove blocks that are gone."""
        with self._lock:
            for key in keys:
                policy = self._policies.get(owner_of(key))
                if policy is not None and policy.remove(key):
                    self._shares.give(owner_of(key))
                    self._drop_if_empty(owner_of(key))

    def used(self, chain: Sequence[BlockKey], num_found: int) -> None:
        """Note that a request had these, in whatever tier; `num_found` of them were there before it came."""
        with self._lock:
            for start, run in _runs(chain):
                policy = self._policies.get(owner_of(run[0]))
                if policy is not None:
                    policy.use(run, min(max(0, num_found - start), len(run)))
                    self._shares.use(owner_of(run[0]))

    def wanted(self, chain: Sequence[BlockKey]) -> None:
        """Note that a request is about to use these: they should not make room for what follows them."""
        with self._lock:
            for _, run in _runs(chain):
                policy = self._policies.get(owner_of(run[0]))
                if policy is not None:
                    policy.touch(run)
                    self._shares.use(owner_of(run[0]))

    def take_victims(self, count: int, can_go: Callable[[BlockKey], bool], taker: Owner) -> list[BlockKey]:
        """Remove at most `count` blocks that make room for `taker`, of those that can go, and return them.

        No owner makes room for one that holds more for its weight. `can_go` may not wait for LMCache's lock.
        """
        with self._lock:
            chosen = self._choose(count, can_go, taker)
            for key in chosen:
                self._policies[owner_of(key)].remove(key)
            for owner in {owner_of(key) for key in chosen}:
                self._drop_if_empty(owner)
            return chosen

    def _choose(self, count: int, can_go: Callable[[BlockKey], bool], taker: Owner) -> list[BlockKey]:
        chosen: list[BlockKey] = []
        orders: dict[Owner, Iterator[BlockKey]] = {}
        stuck: list[Owner] = []
        while len(chosen) < count and (owner := self._shares.first()) is not None:
            if self._shares.level(owner) < self._shares.level(taker):
                break
            order = orders.setdefault(owner, self._policies[owner].in_order())
            key = next((key for key in order if can_go(key)), None)
            if key is None:
                self._shares.leave(owner)
                stuck.append(owner)
            else:
                chosen.append(key)
                self._shares.give(owner)
        for owner in stuck:
            if self._shares.level(owner):
                self._shares.enter(owner)
        return chosen

    def _drop_if_empty(self, owner: Owner) -> None:
        if not self._shares.level(owner):
            del self._policies[owner]


def _runs(chain: Sequence[BlockKey]) -> Iterator[tuple[int, Sequence[BlockKey]]]:
    """Split a chain where its owner changes, behind a public prefix; with the index of each part's first block."""
    start = 0
    for _, group in groupby(chain, owner_of):
        run = list(group)
        yield start, run
        start += len(run)
