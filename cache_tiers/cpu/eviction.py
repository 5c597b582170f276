"""Eviction order of the CPU tier. A policy only orders blocks; it owns neither memory nor locks.

A chain of blocks is useless without its first blocks. Every policy therefore enters a used chain last block first, so
that the end of the least recently used chain is evicted first.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal, Protocol

from cache_tiers.owners.block_key import BlockKey

EvictionName = Literal["lru", "returning"]

UNMARKED: Final = range(0)
"""Indices of the marked blocks of a chain without marks."""

_MEMORY_BLOCKS: Final = 1 << 14
_FADE: Final = 0.5
_MOST_SPEED: Final = 16.0
_DOUBT: Final = 64
"""Number of blocks until which the return of marked blocks is hardly told from that of the others."""


class EvictionPolicy(Protocol):
    """The order in which the blocks of one owner are evicted. Not thread-safe.

    The caller reports every insertion, removal and use of a block.
    """

    def add(self, key: BlockKey) -> bool:
        """Insert a block of the tier. Return False if the policy already had it."""

    def remove(self, key: BlockKey) -> bool:
        """Remove a block that left the tier. Return False if the policy did not have it."""

    def touch(self, chain: Sequence[BlockKey], num_found: int, marked: range = UNMARKED) -> None:
        """Mark a request's block chain, from its first block on, as used. The first `num_found` blocks were cache hits.

        The hits may have been in any tier, and some blocks of the chain may not be in this one.

        marked: indices of the blocks that the client marked for caching.
        """

    def protect(self, chain: Sequence[BlockKey]) -> None:
        """Protect the chain that a request is about to use. The request reports `touch` when it ends."""

    def count_returns(self, number: float) -> None:
        """Count `number` more blocks as requested again, for a policy that sees a sample; negative for fewer."""

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

    def touch(self, chain: Sequence[BlockKey], num_found: int, marked: range = UNMARKED) -> None:  # noqa: ARG002
        """See EvictionPolicy."""
        self.protect(chain)

    def protect(self, chain: Sequence[BlockKey]) -> None:
        """See EvictionPolicy."""
        for key in reversed(chain):
            if key in self._keys:
                self._keys.move_to_end(key)

    def count_returns(self, number: float) -> None:
        """See EvictionPolicy."""

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

    Blocks that were requested once form two classes: those that the client marked for caching, and the others. A mark
    is no promise: it only chooses the class in which the block's return is measured.

    Each class has an estimated probability of return. Blocks of a less likely class age faster than returned blocks, by
    the ratio of the two. If all classes return equally often, the policy is LRU. Marks on all blocks lead to the order
    without marks, since a class with few blocks is assumed to return as often as both classes together.
    """

    def __init__(self) -> None:
        self._marked = _Class()
        self._once = _Class()
        self._returned = _Class()
        # At equal age, the first class is evicted first.
        self._classes = (self._marked, self._once, self._returned)
        self._heirs: dict[BlockKey, BlockKey] = {}
        self._tick = 0

    def add(self, key: BlockKey) -> bool:
        """See EvictionPolicy."""
        if self._class_of(key) is not None:
            return False
        self._once.ticks[key] = self._tick
        return True

    def remove(self, key: BlockKey) -> bool:
        """See EvictionPolicy."""
        self._heirs.pop(key, None)
        former = self._class_of(key)
        if former is None:
            return False
        del former.ticks[key]
        return True

    def touch(self, chain: Sequence[BlockKey], num_found: int, marked: range = UNMARKED) -> None:
        """See EvictionPolicy."""
        self._tick += len(chain)
        heir = self._heirs.get(chain[num_found - 1]) if num_found else None
        continues = 0 < num_found < len(chain) and heir in (None, chain[num_found])
        num_returned = len(chain) if continues else num_found
        for index in range(len(chain) - 1, -1, -1):
            key = chain[index]
            former = self._class_of(key)
            if former is None:
                continue
            del former.ticks[key]
            former.came_back += index < num_found
            entered = self._marked if index in marked else self._once
            if index < num_returned or former is self._returned:
                entered = self._returned
            entered.ticks[key] = self._tick
            entered.entered += 1
            if index + 1 < len(chain):
                self._heirs.setdefault(key, chain[index + 1])
        if sum(each.entered for each in self._classes) > _MEMORY_BLOCKS:
            for each in self._classes:
                each.fade()

    def protect(self, chain: Sequence[BlockKey]) -> None:
        """See EvictionPolicy."""
        self._tick += len(chain)
        for key in reversed(chain):
            former = self._class_of(key)
            if former is not None:
                former.ticks[key] = self._tick
                former.ticks.move_to_end(key)

    def count_returns(self, number: float) -> None:
        """See EvictionPolicy."""
        self._returned.entered = max(0.0, self._returned.entered + number)
        self._returned.came_back = max(0.0, self._returned.came_back + number)

    def in_order(self) -> Iterator[BlockKey]:
        """See EvictionPolicy."""
        chances = (self._chance_of(self._marked), self._chance_of(self._once), self._returned.chance)
        speeds = [min(_MOST_SPEED, max(1.0, self._returned.chance / chance)) for chance in chances]
        orders = [iter(each.ticks.items()) for each in self._classes]
        oldest = [next(order, None) for order in orders]
        while any(each is not None for each in oldest):
            ages = [
                (self._tick - each[1]) * speed if each is not None else -1.0
                for each, speed in zip(oldest, speeds, strict=True)
            ]
            index = ages.index(max(ages))
            chosen = oldest[index]
            assert chosen is not None
            yield chosen[0]
            oldest[index] = next(orders[index], None)

    def _chance_of(self, once: _Class) -> float:
        """Estimate the probability of return in one of the two classes of blocks that were requested once."""
        came_back = self._marked.came_back + self._once.came_back
        common = (came_back + 1) / (self._marked.entered + self._once.entered + 1)
        return (once.came_back + 1 + _DOUBT * common) / (once.entered + 1 + _DOUBT)

    def _class_of(self, key: BlockKey) -> _Class | None:
        for each in self._classes:
            if key in each.ticks:
                return each
        return None


_POLICIES: Final[Mapping[EvictionName, Callable[[], EvictionPolicy]]] = MappingProxyType(
    {"lru": LeastRecentlyUsed, "returning": LikelyToReturn}
)


def make_eviction(name: EvictionName) -> EvictionPolicy:
    """Create an empty policy of the given name. Raise KeyError for an unknown name."""
    return _POLICIES[name]()
