"""Blocks that were used recently, with the number of blocks used since."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from cache_tiers.owners.block_key import BlockKey

MOST_AGE: Final = 1 << 13
"""Age in blocks up to which uses are known."""


class RecentUse:
    """The ages of recently used blocks. An age is the number of blocks that were used since.

    The end of a chain is evicted first, so the blocks before it in its chain count as used later.
    """

    def __init__(self, most_age: int = MOST_AGE) -> None:
        self._most_age = most_age
        self._used_at: OrderedDict[BlockKey, int] = OrderedDict()
        self._now = 0

    def ages(self, chain: Sequence[BlockKey]) -> list[int]:
        """Return the ages of the leading blocks of `chain` that were used recently. They increase along a chain."""
        ages: list[int] = []
        for key in chain:
            used_at = self._used_at.get(key)
            if used_at is None:
                break
            ages.append(self._now - used_at)
        return ages

    def use(self, chain: Sequence[BlockKey]) -> None:
        """Count the blocks of `chain` as used now, the first one last."""
        self._now += len(chain)
        for index in range(len(chain) - 1, -1, -1):
            self._used_at.pop(chain[index], None)
            self._used_at[chain[index]] = self._now - index
        while self._used_at and self._now - next(iter(self._used_at.values())) > self._most_age:
            self._used_at.popitem(last=False)
