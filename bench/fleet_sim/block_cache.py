"""Blocks that one tier of a simulated replica holds, by name."""

from collections import OrderedDict
from collections.abc import Callable, Sequence


class BlockCache:
    """Blocks in order of their last use. Above `capacity`, the least recently used one is evicted.

    on_evict: called with the name of each block that is evicted.
    """

    def __init__(self, capacity: int, on_evict: Callable[[int], None] = lambda _: None) -> None:
        self._capacity = capacity
        self._on_evict = on_evict
        self._blocks: OrderedDict[int, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._blocks)

    def __contains__(self, name: int) -> bool:
        return name in self._blocks

    def run(self, names: Sequence[int], start: int = 0) -> int:
        """Return how many leading blocks of `names` are here, given that the first `start` are found elsewhere."""
        depth = start
        while depth < len(names) and names[depth] in self._blocks:
            depth += 1
        return depth

    def use(self, names: Sequence[int]) -> None:
        """Add the blocks, or mark them as used. The end of the chain is evicted before its beginning."""
        blocks = self._blocks
        for name in reversed(names):
            blocks[name] = None
            blocks.move_to_end(name)
        while len(blocks) > self._capacity:
            self._on_evict(blocks.popitem(last=False)[0])
