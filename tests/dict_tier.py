"""A tier below CPU memory that keeps its blocks in a dictionary."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import pytest

from app.openapi import openapi_document
from cache_tiers import registry
from cache_tiers.config import TierConfig
from cache_tiers.histogram import Histogram
from cache_tiers.lower.link_speed import LinkSpeed
from cache_tiers.lower.tier import (
    Block,
    FoundTier,
    LowerTierOptions,
    LowerTierStats,
    Progress,
    SharedTier,
    TierMiss,
    TierMissReason,
)
from cache_tiers.tier import Tier


class DictTier:
    """LowerTier over a dictionary. Operations end on a separate thread, as those of a server would.

    blocks: payloads by key, which outlive the tier.
    is_up: whether operations are attempted.
    """

    def __init__(self, tier: Tier, blocks: dict[bytes, bytes] | None = None) -> None:
        self.tier = tier
        self.blocks = blocks if blocks is not None else {}
        self.is_up = True
        self.loaded = 0
        self._stored = 0
        self._announced: set[bytes] = set()
        self._settled = threading.Condition()
        self._missed: list[bytes] = []
        self._misses: dict[bytes, TierMiss] = {}
        self._lookups = Histogram.of_seconds()
        self._stores = Histogram.of_seconds()

    @property
    def available(self) -> bool:
        return self.is_up

    @property
    def speed(self) -> LinkSpeed:
        return LinkSpeed(0.0001, 1e9)

    def announce(self, keys: Sequence[bytes]) -> None:
        self._announced.update(keys)

    def awaits_put(self, key: bytes) -> bool:
        return key in self._announced

    def put(self, blocks: Sequence[Block], done: Callable[[bool], None]) -> None:
        def write() -> None:
            for block in blocks:
                if self.is_up:
                    self.blocks[block.key] = bytes(block.payload)
                    self._stored += 1
                    self._stores.observe(0.0001)
                else:
                    self._missed.append(block.key)
            done(self.is_up)
            with self._settled:
                self._announced.difference_update(block.key for block in blocks)
                self._settled.notify_all()

        threading.Thread(target=write).start()

    @property
    def num_missed(self) -> int:
        return len(self._missed)

    @property
    def may_miss_more(self) -> bool:
        return bool(self._announced)

    def take_missed(self, most: int) -> list[bytes]:
        if not self.is_up:
            return []
        taken, self._missed = self._missed[:most], self._missed[most:]
        return taken

    def renew(self, chain: Sequence[bytes]) -> None:
        pass

    def num_known(self, keys: Sequence[bytes]) -> int:
        return next((index for index, key in enumerate(keys) if key not in self.blocks), len(keys))

    def find(self, keys: Sequence[bytes], done: Callable[[list[bool]], None]) -> None:
        def answer() -> None:
            self._lookups.observe(0.0001)
            found = [self.is_up and key in self.blocks for key in keys]
            self._note(keys, found)
            done(found)

        threading.Thread(target=answer).start()

    def load(self, blocks: Sequence[Block], done: Callable[[list[bool]], None]) -> None:
        def read() -> None:
            found = [self.is_up and block.key in self.blocks for block in blocks]
            for block, is_there in zip(blocks, found, strict=True):
                if is_there:
                    block.payload[:] = self.blocks[block.key]
            self.loaded += sum(found)
            self._note([block.key for block in blocks], found)
            done(found)

        threading.Thread(target=read).start()

    def _note(self, keys: Sequence[bytes], found: Sequence[bool]) -> None:
        reason = TierMissReason.UNKNOWN_KEY if self.is_up else TierMissReason.SKIPPED
        self._misses |= {key: TierMiss(reason) for key, is_there in zip(keys, found, strict=True) if not is_there}

    def erase(self, keys: Sequence[bytes], done: Callable[[bool], None]) -> None:
        for key in keys if self.is_up else ():
            self.blocks.pop(key, None)
        done(self.is_up)

    def take_lookup_seconds(self, key: bytes) -> float:
        return 0.0

    def miss_of(self, key: bytes) -> TierMiss | None:
        return self._misses.get(key)

    def note_unanswered(self, keys: Sequence[bytes]) -> None:
        self._misses |= dict.fromkeys(keys, TierMiss(TierMissReason.SKIPPED))

    def stats(self) -> LowerTierStats:
        return LowerTierStats(
            tier=self.tier,
            state="ok" if self.is_up else "switched off by the test",
            used_bytes=sum(map(len, self.blocks.values())),
            stored_blocks=self._stored,
            loaded_blocks=self.loaded,
            pending_writes=len(self._announced),
            lookup_seconds=self._lookups.copy(),
            store_seconds=self._stores.copy(),
        )

    def flush(self, timeout: float) -> bool:
        with self._settled:
            return self._settled.wait_for(lambda: not self._announced, timeout)

    def close(self) -> None:
        pass


@dataclass
class DictKind:
    """Registration of a DictTier, whose blocks outlive the engine like those of a server."""

    tier: Tier
    blocks: dict[bytes, bytes] = field(default_factory=dict)

    def is_off(self, config: TierConfig) -> bool:
        return False

    def keeps_blocks(self, config: TierConfig) -> bool:
        return bool(self.blocks)

    def find(self, config: TierConfig, progress: Progress, closing: ExitStack) -> FoundTier:
        return FoundTier(self._open, "in a dictionary")

    def share(self, config: TierConfig, progress: Progress, closing: ExitStack) -> SharedTier:
        """Leave the tier to each engine."""
        return SharedTier(config)

    def _open(self, options: LowerTierOptions) -> DictTier:
        return DictTier(self.tier, self.blocks)


@contextmanager
def registered(tier: Tier) -> Iterator[DictKind]:
    """Register a tier after all others, and describe responses with it."""
    kind = DictKind(tier)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "LOWER_TIERS", (*registry.LOWER_TIERS, kind))
        openapi_document.cache_clear()
        yield kind
    openapi_document.cache_clear()
