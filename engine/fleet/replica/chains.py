"""Chains of blocks that a replica holds, and the tips that it publishes of them."""

from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from cache_tiers.owners.block_key import BlockKey
from engine.fleet.wire.report import Tips, name_of

MAX_CHAINS: Final = 1024
MAX_BLOCKS: Final = 1 << 16
"""Bounds of the book, which forgets the chains that were used least recently."""

MAX_CHECKED: Final = 32
"""Chains per report whose places are checked again although no request uses them."""

MAX_CHANGES: Final = 512
"""Names per report, tier and direction. The others follow with the next report."""

Holds = Callable[[BlockKey], bool]
"""Tells whether a tier has a block."""

Depths = tuple[int, int, int]
"""Leading blocks of a chain on the device, in CPU memory, and in the lower tiers."""


@dataclass(slots=True, eq=False)
class _Chain:
    """A prefix that was computed here.

    depths: as published. is_fork: other chains part from this one at its end.
    """

    keys: Sequence[BlockKey]
    is_fork: bool = False
    depths: Depths = (0, 0, 0)


class ChainBook:
    """Owner of the published tips. Tiers evict the end of a chain first, so a tip stands for all blocks before it."""

    def __init__(self) -> None:
        self._chains: OrderedDict[BlockKey, _Chain] = OrderedDict()
        self._changed: dict[BlockKey, None] = {}
        self._turn: list[BlockKey] = []
        # Number of chains that contain a block.
        self._uses: Counter[BlockKey] = Counter()
        self._num_blocks = 0
        # Number of chains with a tip, for each tier; then the changes that have not been taken.
        self._tips = tuple(Counter[int]() for _ in range(3))
        self._gained: tuple[dict[int, None], ...] = ({}, {}, {})
        self._lost: tuple[dict[int, None], ...] = ({}, {}, {})

    def __len__(self) -> int:
        return len(self._chains)

    def use(self, keys: Sequence[BlockKey]) -> None:
        """Record that a request computes the chain `keys`, which may still grow."""
        if not keys:
            return
        if keys[-1] not in self._chains:
            self._part(keys)
            self._add(keys)
        self._chains.move_to_end(keys[-1])
        self._changed[keys[-1]] = None

    def _part(self, keys: Sequence[BlockKey]) -> None:
        """Drop the chain that `keys` continues, or add the common part with the chain that it leaves."""
        common = next((depth for depth in range(len(keys), 0, -1) if keys[depth - 1] in self._uses), 0)
        if not 0 < common < len(keys):
            return
        before = self._chains.get(keys[common - 1])
        if before is None:
            self._add(keys[:common], is_fork=True)
            self._changed[keys[common - 1]] = None
        elif not before.is_fork:
            self._drop(keys[common - 1])

    def _add(self, keys: Sequence[BlockKey], *, is_fork: bool = False) -> None:
        self._chains[keys[-1]] = _Chain(list(keys), is_fork)
        self._uses.update(keys)
        self._num_blocks += len(keys)
        while len(self._chains) > MAX_CHAINS or (self._num_blocks > MAX_BLOCKS and len(self._chains) > 1):
            self._drop(next(iter(self._chains)))

    def _drop(self, tip: BlockKey) -> None:
        chain = self._chains.pop(tip)
        self._changed.pop(tip, None)
        self._num_blocks -= len(chain.keys)
        for key in chain.keys:
            self._uses[key] -= 1
            if not self._uses[key]:
                del self._uses[key]
        self._move(chain, (0, 0, 0))

    def depths_of(self, keys: Sequence[BlockKey]) -> Depths:
        """Return the published depths of a chain that is in use."""
        chain = self._chains.get(keys[-1]) if keys else None
        return chain.depths if chain is not None else (0, 0, 0)

    def check(self, holds: tuple[Holds, Holds, Holds]) -> None:
        """Look up again where the chains are that requests use, and a few others in turn."""
        for tip in (*self._changed, *self._next_in_turn()):
            if (chain := self._chains.get(tip)) is None:
                continue
            found = [_depth(chain.keys, each, depth) for each, depth in zip(holds, chain.depths, strict=True)]
            self._move(chain, (found[0], found[1], found[2]))
            if not any(found) and tip not in self._changed:
                self._drop(tip)
        self._changed.clear()

    def _next_in_turn(self) -> list[BlockKey]:
        self._turn = self._turn or list(self._chains)
        tips, self._turn = self._turn[-MAX_CHECKED:], self._turn[:-MAX_CHECKED]
        return [tip for tip in tips if tip not in self._changed]

    def _move(self, chain: _Chain, depths: Depths) -> None:
        for tier, (before, now) in enumerate(zip(chain.depths, depths, strict=True)):
            if before == now:
                continue
            if before:
                self._lose(tier, name_of(chain.keys[before - 1]))
            if now:
                self._gain(tier, name_of(chain.keys[now - 1]))
        chain.depths = depths

    def _gain(self, tier: int, name: int) -> None:
        self._tips[tier][name] += 1
        if self._tips[tier][name] == 1 and self._lost[tier].pop(name, self) is self:
            self._gained[tier][name] = None

    def _lose(self, tier: int, name: int) -> None:
        self._tips[tier][name] -= 1
        if not self._tips[tier][name]:
            del self._tips[tier][name]
            if self._gained[tier].pop(name, self) is self:
                self._lost[tier][name] = None

    def take_changes(self) -> tuple[Tips, Tips]:
        """Return the tips that were gained and lost since the last call, at most `MAX_CHANGES` each."""
        return _taken(self._gained), _taken(self._lost)

    def published(self) -> Tips:
        """Return all tips whose changes have been taken."""
        parts = zip(self._tips, self._gained, self._lost, strict=True)
        return Tips(*([*(now.keys() - gained.keys()), *lost] for now, gained, lost in parts))


def _depth(keys: Sequence[BlockKey], holds: Holds, before: int) -> int:
    """Return how many leading blocks a tier has. `before` is the former result, which is usually right."""
    low, high = (before, len(keys)) if not before or holds(keys[before - 1]) else (0, before - 1)
    while low < high:
        middle = (low + high + 1) // 2
        if holds(keys[middle - 1]):
            low = middle
        else:
            high = middle - 1
    return low


def _taken(changes: tuple[dict[int, None], ...]) -> Tips:
    names = [list(islice(each, MAX_CHANGES)) for each in changes]
    for each, taken in zip(changes, names, strict=True):
        for name in taken:
            del each[name]
    return Tips(*names)
