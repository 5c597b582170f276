"""A tier in miniature: its own eviction, on a sample of the blocks."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from cache_tiers.cpu.eviction import EvictionPolicy
from cache_tiers.cpu.eviction_index import EvictionIndex
from cache_tiers.owners.block_key import BlockKey, owner_of
from cache_tiers.owners.owners import Owners
from cache_tiers.owners.shares import MemoryShares

MOST_BLOCKS: Final = 1 << 10
"""Blocks of a tier up to which all of them are followed."""

MOST_LEVEL: Final = 16

_SURE: Final = 32
"""A block is certainly in a tier of `_SURE` times as many blocks as were used since its last use.

The policy `returning` lets a block age up to 16 times as fast as others.
"""


def level_of(key: BlockKey) -> int:
    """Return the highest level whose samples have the block. One block in 2 ** n has level n or a higher one."""
    bits = key[-1] | key[-2] << 8 | 1 << MOST_LEVEL
    return (bits & -bits).bit_length() - 1


@dataclass(frozen=True, slots=True)
class Use:
    """Blocks that a request used.

    num_prompt: number of the first blocks that are full blocks of the prompt.
    num_found: number of the first blocks that tiers below delivered or could have delivered.
    marked: indices of the blocks that the client marked for caching.
    ages: ages of the leading blocks of the prompt that were used recently.
    """

    chain: Sequence[BlockKey]
    num_prompt: int
    num_found: int
    marked: range
    ages: Sequence[int]


class Samples:
    """The samples of one chain, by level. Each sample is a part of those of lower levels."""

    def __init__(self, chain: Sequence[BlockKey]) -> None:
        self._found: dict[int, tuple[Sequence[int], Sequence[BlockKey]]] = {0: (range(len(chain)), chain)}

    def of(self, level: int) -> tuple[Sequence[int], Sequence[BlockKey]]:
        """Return the indices and the keys of the blocks in the sample of a level."""
        if level not in self._found:
            indices, keys = self._found[max(each for each in self._found if each < level)]
            taken = [(index, key) for index, key in zip(indices, keys, strict=True) if level_of(key) >= level]
            self._found[level] = ([index for index, _ in taken], [key for _, key in taken])
        return self._found[level]


class MiniTier:
    """Prediction of the hits in a tier of `capacity` blocks, by the tier's policy on a sample of the blocks.

    A sample keeps whole positions in chains, so that blocks are evicted at the same times as in the tier itself, if the
    capacity is divided by the same number ("miniature simulations", Waldspurger and others, USENIX ATC 2017).

    A block that all prompts begin with is in the sample or not, and would count too much or not at all. The leading
    blocks that are certainly in the tier, since they were used a moment ago, are therefore counted exactly.
    """

    def __init__(self, capacity: int, make_policy: Callable[[], EvictionPolicy], owners: Owners) -> None:
        self._capacity = capacity
        self.level = 0
        while capacity >> self.level > MOST_BLOCKS and self.level < MOST_LEVEL:
            self.level += 1
        self._index = EvictionIndex(make_policy, MemoryShares(owners))
        self._keys: set[BlockKey] = set()

    @property
    def _most(self) -> int:
        return max(1, self._capacity >> self.level)

    def use(self, use: Use, samples: Samples) -> tuple[int, int, int]:
        """Have the tier look up the prompt and keep all blocks.

        Return the number of the leading blocks that were certainly found, and of the sample's further blocks of the
        prompt how many were found and how many were not.
        """
        indices, chain = samples.of(self.level)
        sure = bisect_left(use.ages, self._capacity // _SURE + 1) if self.level else 0
        num_prompt, num_sure = bisect_left(indices, use.num_prompt), bisect_left(indices, sure)
        run = next((at for at in range(num_sure, num_prompt) if chain[at] not in self._keys), num_prompt)
        if chain:
            self._keep(chain)
            found = max(run, bisect_left(indices, use.num_found))
            marked = range(bisect_left(indices, use.marked.start), bisect_left(indices, use.marked.stop))
            self._index.touch(chain, found, marked)
        if sure:
            self._index.count_returns(owner_of(use.chain[sure - 1]), sure / 2**self.level - num_sure)
        return sure, run - num_sure, num_prompt - run

    def coarsen(self) -> None:
        """Halve the sample, and with it the work and the memory."""
        self.level = min(MOST_LEVEL, self.level + 1)
        gone = [key for key in self._keys if level_of(key) < self.level]
        self._index.remove(gone)
        self._keys.difference_update(gone)

    def _keep(self, chain: Sequence[BlockKey]) -> None:
        new = [key for key in chain if key not in self._keys][-self._most :]
        if not new:
            return
        if (excess := len(self._keys) + len(new) - self._most) > 0:
            self._keys.difference_update(self._index.pick(excess, lambda _: True, owner_of(new[-1])))
        # A tier whose blocks all belong to owners with less refuses blocks.
        new = new[: max(0, self._most - len(self._keys))]
        self._index.insert(new)
        self._keys.update(new)
