"""Eviction order of the CPU tier. A policy only orders blocks; it owns neither memory nor locks.

A chain of blocks is useless without its first blocks. Every policy therefore enters a used chain last block first, so
that the end of the least recently used chain is evicted first.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal, Protocol

from cache_tiers.block_key import BlockKey

EvictionName = Literal["lru", "returning"]

_MEMORY_BLOCKS: Final = 1 << 14
_FADE: Final = 0.5
_MOST_SPEED: Final = 16.0


class EvictionPolicy(Protocol):
    """The order in which the blocks of one owner are evicted. Not thread-safe.

    The caller reports every insertion, removal and use of a block.
    """

    def add(self, key: BlockKey) -> bool:
        """Insert a block of the tier. Return False if the policy already had it."""

    def remove(self, key: BlockKey) -> bool:
        """Remove a block that left the tier. Return False if the policy did not have it."""

    def touch(self, chain: Sequence[BlockKey], num_found: int) -> None:
        """Mark a request's block chain, from its first block on, as used. The first `num_found` blocks were cache hits.

        The hits may have been in any tier, and some blocks of the chain may not be in this one.
        """

    def protect(self, chain: Sequence[BlockKey]) -> None:
        """Protect the chain that a request is about to use. The request reports `touch` when it ends."""

    def in_order(self) -> Iterator[BlockKey]:
        """Yield the blocks of the tier in eviction order. The policy must not change during the iteration."""


class LeastRecentlyUsed:
    """EvictionPolicy that evicts the least recently used block first."""

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

    def touch(self, chain: Sequence[BlockKey], num_found: int) -> None:  # noqa: ARG002
        """See EvictionPolicy."""
        self.protect(chain)

    def protect(self, chain: Sequence[BlockKey]) -> None:
        """See EvictionPolicy."""
        for key in reversed(chain):
            if key in self._keys:
                self._keys.move_to_end(key)

    def in_order(self) -> Iterator[BlockKey]:
        """See EvictionPolicy."""
        return iter(self._keys)


@dataclass(slots=True)
class _Class:
    """Blocks with the same history, least recently used first.

    ticks: the tick of each block's last use.
    entered: blocks recently added to this class, with older ones weighted down.
    came_back: blocks recently found in this class by a request, weighted in the same way.
    """

    ticks: OrderedDict[BlockKey, int] = field(default_factory=OrderedDict)
    entered: float = 0.0
    came_back: float = 0.0

    @property
    def chance(self) -> float:
        """Estimated probability that a block is requested again. Above 0, since the next request may be the first."""
        return (self.came_back + 1) / (self.entered + 1)

    def fade(self) -> None:
        """Reduce the weight of old observations."""
        self.entered *= _FADE
        self.came_back *= _FADE


class LikelyToReturn:
    """EvictionPolicy that evicts blocks requested once before blocks requested again, as long as that pays off.

    A block counts as returned once a request has found it. The blocks which that request appends also count as
    returned if it extends the end of the chain, as the next turn of a conversation does. A request that found only a
    prefix which other requests extend too, such as a system prompt, is new, and its own blocks count as requested once.

    Each of the two classes has an estimated probability of return. Blocks of the less likely class age faster by the
    ratio of the two. If both classes return equally often, the policy is LRU.
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

    def touch(self, chain: Sequence[BlockKey], num_found: int) -> None:
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

    def protect(self, chain: Sequence[BlockKey]) -> None:
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


_POLICIES: Final[Mapping[EvictionName, Callable[[], EvictionPolicy]]] = MappingProxyType(
    {"lru": LeastRecentlyUsed, "returning": LikelyToReturn}
)


def make_eviction(name: EvictionName) -> EvictionPolicy:
    """Create an empty policy of the given name. Raises KeyError for an unknown name."""
    return _POLICIES[name]()
