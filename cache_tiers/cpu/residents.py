"""Which blocks are in the CPU tier, in the order in which they would leave it."""

import threading
from collections.abc import Callable, Sequence

from cache_tiers.block_key import BlockKey
from cache_tiers.cpu.eviction import EvictionPolicy


class Residents:
    """Thread-safe: LMCache tells of comings and goings from its own threads, with its lock held. So nothing here calls
    LMCache with this lock held."""

    def __init__(self, policy: EvictionPolicy) -> None:
        self._policy = policy
        self._lock = threading.Lock()

    def came(self, keys: Sequence[BlockKey]) -> None:
        """These are readable from now on."""
        with self._lock:
            for key in keys:
                self._policy.add(key)

    def went(self, keys: Sequence[BlockKey]) -> None:
        """These are gone."""
        with self._lock:
            for key in keys:
                self._policy.remove(key)

    def used(self, chain: Sequence[BlockKey], num_found: int) -> None:
        """A request had these, wherever they lay; `num_found` of them were there before it came."""
        with self._lock:
            self._policy.use(chain, num_found)

    def wanted(self, chain: Sequence[BlockKey]) -> None:
        """A request is about to use these: they should not make room for what follows them."""
        with self._lock:
            self._policy.touch(chain)

    def victims(self, count: int, can_go: Callable[[BlockKey], bool]) -> list[BlockKey]:
        """At most `count` blocks to give up, of those that can go. `can_go` may not wait for LMCache's lock."""
        chosen: list[BlockKey] = []
        with self._lock:
            for key in self._policy.in_order():
                if len(chosen) == count:
                    break
                if can_go(key):
                    chosen.append(key)
        return chosen
