"""Index of the blocks in the CPU tier, and their order of eviction."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby

from cache_tiers.cpu.eviction import UNMARKED, EvictionPolicy
from cache_tiers.owners.block_key import BlockKey, Owner, owner_of
from cache_tiers.owners.shares import MemoryShares


class EvictionIndex:
    """Blocks in the CPU tier, with an eviction policy per owner.

    Owners share the tier fairly according to `shares`, which counts blocks. A block returned as a victim is no longer a
    resident.

    Thread-safe. LMCache reports added and removed blocks from its own threads while it holds its own lock. To avoid a
    deadlock, no method calls LMCache while it holds the lock of this class.
    """

    def __init__(self, make_policy: Callable[[], EvictionPolicy], shares: MemoryShares) -> None:
        self._make_policy = make_policy
        self._policies: dict[Owner, EvictionPolicy] = {}
        self._shares = shares
        self._lock = threading.Lock()

    @property
    def held(self) -> Mapping[Owner, int]:
        """Number of resident blocks by owner."""
        with self._lock:
            return self._shares.held

    def insert(self, keys: Sequence[BlockKey]) -> None:
        """Add blocks that have become readable."""
        with self._lock:
            for key in keys:
                owner = owner_of(key)
                policy = self._policies.get(owner)
                if policy is None:
                    policy = self._policies[owner] = self._make_policy()
                if policy.add(key):
                    self._shares.take(owner)
                    self._shares.enter(owner)

    def remove(self, keys: Sequence[BlockKey]) -> None:
        """Remove blocks that are no longer in the tier."""
        with self._lock:
            for key in keys:
                policy = self._policies.get(owner_of(key))
                if policy is not None and policy.remove(key):
                    self._shares.give(owner_of(key))
                    self._drop_if_empty(owner_of(key))

    def touch(self, chain: Sequence[BlockKey], num_found: int, marked: range = UNMARKED) -> None:
        """Mark a request's block chain as used. The first `num_found` blocks were hits, in any tier.

        marked: as in `EvictionPolicy.touch`.
        """
        with self._lock:
            for start, run in _runs(chain):
                policy = self._policies.get(owner_of(run[0]))
                if policy is not None:
                    found = min(max(0, num_found - start), len(run))
                    policy.touch(run, found, range(marked.start - start, marked.stop - start))
                    self._shares.use(owner_of(run[0]))

    def protect(self, chain: Sequence[BlockKey]) -> None:
        """Protect a chain that a request is about to use, so that later blocks do not evict it."""
        with self._lock:
            for _, run in _runs(chain):
                policy = self._policies.get(owner_of(run[0]))
                if policy is not None:
                    policy.protect(run)
                    self._shares.use(owner_of(run[0]))

    def count_returns(self, owner: Owner, number: float) -> None:
        """Count `number` more blocks of `owner` as requested again, as `EvictionPolicy.count_returns` does."""
        with self._lock:
            policy = self._policies.get(owner)
            if policy is not None:
                policy.count_returns(number)

    def pick(self, count: int, can_go: Callable[[BlockKey], bool], taker: Owner) -> list[BlockKey]:
        """Remove and return at most `count` blocks to make room for `taker`.

        No block is taken from an owner that holds less for its weight than `taker`.

        can_go: tells whether a block may be evicted. Called with the lock held, so it must not wait for LMCache's lock.
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
    """Split `chain` where its owner changes, which is after a public prefix.

    Yields the index of each part's first block, and the part.
    """
    start = 0
    for _, group in groupby(chain, owner_of):
        run = list(group)
        yield start, run
        start += len(run)
