"""Writes of blocks that are in CPU memory already: deferred ones, and those that a lower tier missed."""

import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from cache_tiers.cpu_store.block_memory import BlockMemory
from cache_tiers.cpu_store.deferred_blocks import DeferredBlocks
from cache_tiers.lower.block import Block
from cache_tiers.lower.tiers import LowerTiers
from cache_tiers.owners.block_key import BlockKey

AT_ONCE: Final = 8
"""Number of missed blocks that are written at once."""
_DEFERRED_AT_ONCE: Final = 32
"""The same for deferred blocks on an idle machine, where a full queue of a tier only delays them."""


class LaterWrites:
    """Owner of the locks of these writes. Each block is unlocked once its own write has ended. Thread-safe."""

    def __init__(self, lower: LowerTiers, memory: BlockMemory, deferred: DeferredBlocks, *, keeps_in_cpu: bool) -> None:
        self._lower = lower
        self._memory = memory
        self._deferred = deferred
        self._keeps_in_cpu = keeps_in_cpu
        self._lock = threading.Lock()
        self._writing = 0

    @property
    def num_writing(self) -> int:
        """Number of blocks that are locked for a write."""
        return self._writing

    def admit(self, keys: Sequence[BlockKey]) -> None:
        """Write deferred blocks now, or as soon as their turn comes."""
        self._write(self._deferred.admit(keys, self._lower.announce), self._lower.put)

    def write_deferred(self) -> None:
        """Begin to write some deferred blocks, unless enough is being written."""
        if self._writing < AT_ONCE:
            self.admit(self._deferred.oldest(_DEFERRED_AT_ONCE))

    def write_missed(self, *, begin: bool) -> bool:
        """See KVTierStore."""
        if begin and not self._writing:
            missed = self._lower.take_missed(AT_ONCE)
            if missed is not None:
                tier, keys = missed
                self._write([BlockKey(key) for key in keys], tier.put)
        return self._writing > 0 or self._lower.num_missed > 0 or self._lower.may_miss_more

    def flush(self, timeout: float) -> bool:
        """See KVTierStore. Write the deferred blocks too, a few at a time, so that none is shed."""
        ends = time.monotonic() + timeout
        while (keys := self._deferred.oldest(AT_ONCE)) and self._lower.available:
            self.admit(keys)
            if not self._lower.flush(ends - time.monotonic()):
                return False
        return self._lower.flush(max(0.0, ends - time.monotonic()))

    def _write(self, keys: Sequence[BlockKey], put: Callable[[Sequence[Block], Callable[[bool], None]], None]) -> None:
        blocks = self._memory.lock(keys) if keys else []
        with self._lock:
            self._writing += len(blocks)
        for block in blocks:
            put([block], partial(self._on_written, BlockKey(block.key)))

    def _on_written(self, key: BlockKey, _stored: bool) -> None:
        self._memory.unlock([key])
        if not self._keeps_in_cpu:
            self._memory.drop([key])
        with self._lock:
            self._writing -= 1
