"""Blocks of CPU memory that are not written to the lower tiers yet, because they may never be used again."""

import threading
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Final

from cache_tiers.owners.block_key import BlockKey
from cache_tiers.owners.owners import Owners
from cache_tiers.owners.recent_keys import RecentKeys
from cache_tiers.owners.shares import OwnedKeys

_MAX_DROPPED: Final = 1 << 12
"""Dropped blocks that are remembered, to explain why they are computed again."""


class DeferredBlocks:
    """The deferred blocks. Thread-safe.

    No method calls the CPU tier, which reports evicted blocks while it holds its own lock.

    num_dropped: deferred blocks that left CPU memory unwritten, since the start.
    """

    def __init__(self, owners: Owners) -> None:
        self.num_dropped = 0
        self._lock = threading.Lock()
        self._blocks: OwnedKeys[BlockKey, bool] = OwnedKeys(owners)
        """For each deferred block, whether its turn to be written has come."""
        self._dropped: RecentKeys[None] = RecentKeys(_MAX_DROPPED, owners)

    def __len__(self) -> int:
        return len(self._blocks)

    def defer(self, keys: Iterable[BlockKey], *, had_turn: bool) -> None:
        """Defer blocks that are being committed. had_turn: `turn_of` will not be called for them."""
        with self._lock:
            for key in keys:
                self._blocks.put(key, value=had_turn)

    def turn_of(self, keys: Iterable[BlockKey]) -> frozenset[BlockKey]:
        """Note that blocks could be written now. Return those that are deferred and must not be."""
        with self._lock:
            kept = frozenset(key for key in keys if key in self._blocks)
            for key in kept:
                self._blocks.put(key, value=True)
            return kept

    def admit(self, keys: Sequence[BlockKey], announce: Callable[[Sequence[BlockKey]], None]) -> list[BlockKey]:
        """End the deferral of blocks. Return those whose turn has passed, for the caller to write.

        announce: called with those whose turn will come, before it can come.
        """
        passed, coming = list[BlockKey](), list[BlockKey]()
        if len(self._blocks):
            with self._lock:
                for key in keys:
                    had_turn = self._blocks.pop(key)
                    if had_turn is not None:
                        (passed if had_turn else coming).append(key)
                announce(coming)
        return passed

    def oldest(self, most: int) -> list[BlockKey]:
        """Return at most `most` deferred blocks."""
        with self._lock:
            return [key for key, _ in islice(self._blocks.items(), most)]

    def on_evicted(self, keys: Sequence[BlockKey]) -> list[BlockKey]:
        """Drop evicted blocks. Return those that were not deferred."""
        with self._lock:
            dropped = {key for key in keys if self._blocks.pop(key) is not None}
        self._dropped.note(dropped, None)
        self.num_dropped += len(dropped)
        return [key for key in keys if key not in dropped]

    def was_dropped(self, key: BlockKey) -> bool:
        """Return whether CPU memory last evicted a block before a tier had it. Old evictions are forgotten."""
        return self._dropped.has(key)

    def on_committed(self, keys: Iterable[BlockKey]) -> None:
        """Note that blocks are in CPU memory again."""
        if len(self._dropped):
            for key in keys:
                self._dropped.take(key)

    def forget(self, keys: Iterable[BlockKey]) -> None:
        """End the deferral of blocks that are about to be erased."""
        with self._lock:
            for key in keys:
                self._blocks.pop(key)
