"""Blocks that somebody may ask for soon go from host memory to the device, a few at a time."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from cache_tiers.block_key import BlockKey, owner_of
from cache_tiers.manager import LoadOutcome, TierManager
from engine.kv.block import KVCacheBlock
from engine.kv.block_pool import BlockPool

LIFT_ID: Final = "ahead of its request"
"""Of the one load that is under way."""

MOST_BLOCKS: Final = 4
"""At once: whoever comes meanwhile waits for them, as for those that go down at rest."""


@dataclass(frozen=True, slots=True)
class PrefixBlock:
    """A block of a prompt. tail_of: the key of the block before it, if it is filled with these tokens only partly."""

    key: BlockKey
    token_ids: tuple[int, ...]
    tail_of: BlockKey | None = None


class Lifts:
    """Owner of the device blocks that are being written; once they are, nobody uses them, and they can be found."""

    def __init__(self, tiers: TierManager, pool: BlockPool) -> None:
        self._tiers = tiers
        self._pool = pool
        self._run: Sequence[PrefixBlock] = ()
        self._blocks: list[KVCacheBlock] = []
        self._unwanted = False

    @property
    def is_busy(self) -> bool:
        """Whether anything is on its way; then nothing else begins."""
        return bool(self._blocks)

    def begin(self, run: Sequence[PrefixBlock]) -> None:
        """Bring these, at most `MOST_BLOCKS`, into blocks that nobody uses."""
        assert not self.is_busy
        self._run, self._blocks = run, self._pool.allocate(len(run), owner_of(run[-1].key))
        ids = [block.block_id for block in self._blocks]
        self._tiers.begin_load(LIFT_ID, [block.key for block in run], ids, compute_seconds=None, ahead=True)

    def drop(self) -> None:
        """Nobody shall find what is being brought."""
        self._unwanted = self.is_busy

    def erase(self, keys: Iterable[BlockKey]) -> None:
        """Nor these."""
        if not {block.key for block in self._run}.isdisjoint(keys):
            self.drop()

    def end(self, outcome: LoadOutcome) -> bool:
        """Publish what came; whether all of it did."""
        arrived = 0 if self._unwanted else outcome.num_blocks
        for block, brought in zip(self._blocks[:arrived], self._run, strict=False):
            if brought.tail_of is None:
                self._pool.publish(block, brought.key, brought.token_ids)
            else:
                self._pool.leave_tail(block, brought.tail_of, brought.token_ids)
        self._pool.release(reversed(self._blocks))
        is_whole = arrived == len(self._blocks)
        self._run, self._blocks, self._unwanted = (), [], False
        return is_whole
