"""A line in which owners take turns by their weights."""

from collections import OrderedDict
from collections.abc import Collection
from typing import Generic, NamedTuple, TypeVar

from cache_tiers.owners.block_key import Owner
from cache_tiers.owners.fair_division import ServiceAccounts
from cache_tiers.owners.owners import Owners

K = TypeVar("K")
V = TypeVar("V")


class Waiting(NamedTuple, Generic[K, V]):
    """An item that waits."""

    owner: Owner
    key: K
    value: V


class FairLine(Generic[K, V]):
    """Items that wait, each with a key, in one line per owner. Not thread-safe.

    Start-time fair queueing, as among the requests of tenants: next is the oldest item of the owner that was served
    least for its weight. An owner that joins gets no credit for the time in which none of its items waited.
    """

    def __init__(self, owners: Owners) -> None:
        self._accounts = ServiceAccounts(owners.weight)
        self._lines: dict[Owner, OrderedDict[K, V]] = {}
        self._now = 0.0
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def has(self, owner: Owner, key: K) -> bool:
        """Return whether the item `key` of `owner` waits."""
        return key in self._lines.get(owner, ())

    def add(self, owner: Owner, key: K, value: V) -> None:
        """Put an item last in the line of `owner`, which has none with this key."""
        line = self._lines.get(owner)
        if line is None:
            line = self._lines[owner] = OrderedDict()
            self._accounts.join(owner, self._now)
        assert key not in line
        line[key] = value
        self._length += 1

    def next(self, except_for: Collection[Owner] = ()) -> Waiting[K, V] | None:
        """Return the item whose turn it is, without the items of the owners `except_for`; None if there is none."""
        waiting = [owner for owner in self._lines if owner not in except_for] if except_for else self._lines
        owner = min(waiting, key=self._accounts.level, default=None)
        return None if owner is None else Waiting(owner, *next(iter(self._lines[owner].items())))

    def newest(self, owner: Owner) -> Waiting[K, V]:
        """Return the last item in the line of `owner`, which has one."""
        return Waiting(owner, *next(reversed(self._lines[owner].items())))

    def serve(self, turn: Waiting[K, V], size: float = 1.0) -> None:
        """Take out an item and charge its owner `size`."""
        self._now = max(self._now, self._accounts.level(turn.owner))
        self._accounts.charge(turn.owner, size)
        self._take(turn.owner, turn.key)

    def remove(self, owner: Owner, key: K) -> V | None:
        """Take out an item that will not be served, and return its value; None if it does not wait."""
        return self._take(owner, key) if self.has(owner, key) else None

    def _take(self, owner: Owner, key: K) -> V:
        line = self._lines[owner]
        value = line.pop(key)
        self._length -= 1
        if not line:
            del self._lines[owner]
            if self._lines:
                self._accounts.forget(self._now, self._lines)
            else:
                self._accounts.reset()
                self._now = 0.0
        return value
