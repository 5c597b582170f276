"""Which blocks leave the CPU tier first: an order, and nothing but an order.

A chain of blocks is worth nothing without its beginning. So whatever the policy, a chain that was used is entered last
block first: what goes first is the end of the chain that was not used for longest.
"""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol

from cache_tiers.block_key import BlockKey

EvictionName = Literal["lru", "returning"]

_MEMORY_BLOCKS: Final = 1 << 14
_FADE: Final = 0.5
_MOST_SPEED: Final = 16.0


class EvictionPolicy(Protocol):
    """The order in which the blocks of one owner leave the tier. Not thread-safe.

    Each block that comes, goes or is used is reported to it.
    """

    def add(self, key: BlockKey) -> bool:
        """Add a block of the tier; returns whether it was not there."""

    def remove(self, key: BlockKey) -> bool:
        """Remove a block that has left the tier; returns whether it was there."""

    def use(self, chain: Sequence[BlockKey], num_found: int) -> None:
        """A request had these blocks, from its first on; `num_found` of them were there before it came, in whatever
        tier. Some may not be in this tier."""

    def touch(self, chain: Sequence[BlockKey]) -> None:
        """A request is about to use these; it says what came of it when it ends."""

    def in_order(self) -> Iterator[BlockKey]:
        """The blocks of the tier, the one to give up first at first. Nothing may change meanwhile."""


class LeastRecentlyUsed:
    """Implements EvictionPolicy: the longest unused goes first."""

    def __init__(self) -> None:
        self._keys: OrderedDict[BlockKey, None] = OrderedDict()

    def add(self, key: BlockKey) -> bool:
        """See EvictionPolicy."""
        is_new = key not in self._keys
        self._keys.setdefault(key)
        return is_new

    def remove(self, key: BlockKey) -> bool:
        """See EvictionPolicy."""
        was_there = key in self._keys
        self._keys.pop(key, None)
        return was_there

    def use(self, chain: Sequence[BlockKey], num_found: int) -> None:  # noqa: ARG002
        """See EvictionPolicy."""
        self.touch(chain)

    def touch(self, chain: Sequence[BlockKey]) -> None:
        """See EvictionPolicy."""
        for key in reversed(chain):
            if key in self._keys:
                self._keys.move_to_end(key)

    def in_order(self) -> Iterator[BlockKey]:
        """See EvictionPolicy."""
        return iter(self._keys)


@dataclass(slots=True)
class _Class:
    """Blocks that are alike, the longest unused first, each with the tick of its last use. entered: how many were put
    here lately; came_back: of how many of them a request found."""

    ticks: OrderedDict[BlockKey, int] = field(default_factory=OrderedDict)
    entered: float = 0.0
    came_back: float = 0.0

    @property
    def chance(self) -> float:
        """That somebody comes back to a block; above 0, since it could be the next one."""
        return (self.came_back + 1) / (self.entered + 1)

    def fade(self) -> None:
        """What was long ago counts less."""
        self.entered *= _FADE
        self.came_back *= _FADE


class LikelyToReturn:
    """Implements EvictionPolicy: what was asked for once goes before what somebody came back for, as far as that pays.

    A block has returned once a request found it, and so has what that request adds if it goes on where the chain ended:
    a conversation. A request that found only a beginning that others go on from too, such as a system prompt, is new,
    and so are its own blocks. How likely each of the two classes comes back is counted, and a block of the one that is
    less likely to ages that much faster. Where all come back alike, this is LRU.
    """

    def __init__(self) -> None:
        self._once = _Class()
        self._returned = _Class()
        self._heirs: dict[BlockKey, BlockKey] = {}
        self._tick = 0

    def add(self, key: BlockKey) -> bool:
        """See EvictionPolicy."""
        if key in self._returned.ticks or key in self._once.ticks:
            return False
        self._once.ticks[key] = self._tick
        return True

    def remove(self, key: BlockKey) -> bool:
        """See EvictionPolicy."""
        self._heirs.pop(key, None)
        ticks = (self._once.ticks.pop(key, None), self._returned.ticks.pop(key, None))
        return ticks != (None, None)

    def use(self, chain: Sequence[BlockKey], num_found: int) -> None:
        """See EvictionPolicy."""
        self._tick += len(chain)
        heir = self._heirs.get(chain[num_found - 1]) if num_found else None
        goes_on = 0 < num_found < len(chain) and heir in (None, chain[num_found])
        num_returned = len(chain) if goes_on else num_found
        for index in range(len(chain) - 1, -1, -1):
            key = chain[index]
            former = next((each for each in (self._once, self._returned) if key in each.ticks), None)
            if former is None:
                continue
            del former.ticks[key]
            former.came_back += index < num_found
            entered = self._returned if index < num_returned or former is self._returned else self._once
            entered.ticks[key] = self._tick
            entered.entered += 1
            if index + 1 < len(chain):
                self._heirs.setdefault(key, chain[index + 1])
        if self._once.entered + self._returned.entered > _MEMORY_BLOCKS:
            self._once.fade()
            self._returned.fade()

    def touch(self, chain: Sequence[BlockKey]) -> None:
        """See EvictionPolicy."""
        self._tick += len(chain)
        for key in reversed(chain):
            for each in (self._once, self._returned):
                if key in each.ticks:
                    each.ticks[key] = self._tick
                    each.ticks.move_to_end(key)

    def in_order(self) -> Iterator[BlockKey]:
        """See EvictionPolicy."""
        speed = min(_MOST_SPEED, max(1.0, self._returned.chance / self._once.chance))
        once, returned = iter(self._once.ticks.items()), iter(self._returned.ticks.items())
        of_once, of_returned = next(once, None), next(returned, None)
        while of_once is not None or of_returned is not None:
            age = (self._tick - of_once[1]) * speed if of_once is not None else -1.0
            if of_returned is None or (of_once is not None and age >= self._tick - of_returned[1]):
                assert of_once is not None
                yield of_once[0]
                of_once = next(once, None)
            else:
                yield of_returned[0]
                of_returned = next(returned, None)


def make_eviction(name: EvictionName) -> EvictionPolicy:
    """The policy of that name, without any block."""
    return LeastRecentlyUsed() if name == "lru" else LikelyToReturn()
