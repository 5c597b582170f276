"""Promotion of expected blocks from host memory to the device, a few at a time."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from cache_tiers.moves.loads import LoadOutcome
from cache_tiers.moves.manager import TierManager
from cache_tiers.owners.block_key import BlockKey, owner_of
from engine.kv.block import KVCacheBlock
from engine.kv.block_pool import BlockPool

PROMOTION_ID: Final = "ahead of its request"
"""Load id of the promotion; at most one is in flight."""

MAX_BLOCKS: Final = 4
"""Blocks per promotion. A request that arrives during the copy waits for it, as it does for stores made while idle."""


@dataclass(frozen=True, slots=True)
class PrefixBlock:
    """A block of a prompt."""

    key: BlockKey
    token_ids: tuple[int, ...]
    partial_of: BlockKey | None = None
    """Key of the block before it if `token_ids` fill this block only partly; None for a full block."""


class IdlePromotion:
    """Owner of the device blocks that a promotion writes. When it ends, they are published, free and evictable."""

    def __init__(self, tiers: TierManager, pool: BlockPool) -> None:
        self._tiers = tiers
        self._pool = pool
        self._run: Sequence[PrefixBlock] = ()
        self._blocks: list[KVCacheBlock] = []
        self._unwanted = False

    @property
    def is_busy(self) -> bool:
        """Whether a promotion is in flight; no second one may begin."""
        return bool(self._blocks)

    def begin(self, run: Sequence[PrefixBlock]) -> None:
        """Start copying the blocks of `run`, at most `MAX_BLOCKS`, into newly allocated device blocks."""
        assert not self.is_busy
        self._run, self._blocks = run, self._pool.allocate(len(run), owner_of(run[-1].key))
        ids = [block.block_id for block in self._blocks]
        self._tiers.loads.begin(PROMOTION_ID, [block.key for block in run], ids, compute_seconds=None, ahead=True)

    def drop(self) -> None:
        """Publish none of the blocks that are being copied."""
        self._unwanted = self.is_busy

    def erase(self, keys: Iterable[BlockKey]) -> None:
        """Publish none of the blocks that are being copied if `keys` contains one of them."""
        if not {block.key for block in self._run}.isdisjoint(keys):
            self.drop()

    def end(self, outcome: LoadOutcome) -> bool:
        """Publish the blocks that arrived and release all. Return whether every block arrived."""
        arrived = 0 if self._unwanted else outcome.num_blocks
        for block, brought in zip(self._blocks[:arrived], self._run, strict=False):
            if brought.partial_of is None:
                self._pool.publish(block, brought.key, brought.token_ids)
            else:
                self._pool.publish_partial(block, brought.partial_of, brought.token_ids)
        self._pool.release(reversed(self._blocks))
        is_whole = arrived == len(self._blocks)
        self._run, self._blocks, self._unwanted = (), [], False
        return is_whole
