"""Map of keys that owners share fairly, so that no owner displaces the keys of another one within its share."""

from collections import OrderedDict
from typing import Generic, TypeVar

from cache_tiers.owners.block_key import Owner, owner_of
from cache_tiers.owners.owners import Owners
from cache_tiers.owners.shares import MemoryShares

K = TypeVar("K", bound=bytes)
V = TypeVar("V")


class OwnedKeys(Generic[K, V]):
    """Values by key, each with a size, in the order of use within each owner. Not thread-safe.

    size: sum of the sizes of all values.
    """

    def __init__(self, owners: Owners) -> None:
        self._values: dict[Owner, OrderedDict[K, tuple[V, int]]] = {}
        self._shares = MemoryShares(owners)
        self._length = 0
        self.size = 0

    def __len__(self) -> int:
        return self._length

    def __contains__(self, key: K) -> bool:
        return key in self._values.get(owner_of(key), ())

    def get(self, key: K) -> V | None:
        """Return the value of `key`; None if it is unknown."""
        values = self._values.get(owner_of(key))
        found = values.get(key) if values is not None else None
        return found[0] if found is not None else None

    def put(self, key: K, value: V, size: int = 1) -> None:
        """Set the value of `key`, and make it the most recently used key of its owner."""
        self.pop(key)
        owner = owner_of(key)
        self._values.setdefault(owner, OrderedDict())[key] = (value, size)
        self._length += 1
        self.size += size
        self._shares.take(owner, size)
        self._shares.enter(owner)

    def use(self, key: K) -> None:
        """Make `key`, which must be known, the most recently used key of its owner."""
        self._values[owner_of(key)].move_to_end(key)
        self._shares.use(owner_of(key))

    def pop(self, key: K) -> V | None:
        """Remove `key` and return its value; None if it is unknown."""
        owner = owner_of(key)
        values = self._values.get(owner)
        if values is None or key not in values:
            return None
        value, size = values.pop(key)
        if not values:
            del self._values[owner]
        self._length -= 1
        self.size -= size
        self._shares.give(owner, size)
        return value

    def next_to_go(self) -> K:
        """Return the least recently used key of the owner that holds the most for its weight.

        There must be at least one key.
        """
        owner = self._shares.first()
        assert owner is not None
        return next(iter(self._values[owner]))

    def oldest_in_turn(self, most: int) -> list[K]:
        """Remove and return at most `most` keys, the least recently used of each owner in turn."""
        taken: list[K] = []
        while self._values and len(taken) < most:
            owner, values = next(iter(self._values.items()))
            taken.append(key := next(iter(values)))
            self.pop(key)
            if owner in self._values:
                # Move this owner to the end, so that another one is next.
                self._values[owner] = self._values.pop(owner)
        return taken
