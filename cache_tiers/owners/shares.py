"""Fair division of a memory among its owners, and the choice of the owner that gives up memory next."""

import heapq
import itertools
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import Final, Generic, TypeVar

from cache_tiers.owners.block_key import Owner, owner_of
from cache_tiers.owners.owners import Owners

LAPSE_SECONDS: Final = 3600.0
"""Seconds without a use after which an owner loses its claim to a share."""


@dataclass(slots=True)
class _Account:
    """Memory held by one owner.

    weight: weight of the owner, fixed while it holds memory.
    used: clock time of the owner's last use.
    held: size in the unit of the memory, such as blocks or bytes.
    can_lose: whether the owner can give up memory now.
    lapsed: whether the last use is too long ago for a claim to a share.
    """

    weight: float
    used: float
    held: int = 0
    can_lose: bool = False
    lapsed: bool = False

    @property
    def level(self) -> float:
        """Size held per weight; infinite once the claim has lapsed."""
        return inf if self.lapsed else self.held / self.weight


class MemoryShares:
    """Weighted max-min fairness: the owner that holds the most for its weight gives up memory first.

    An owner that is alone may hold all of the memory. While an owner above its share can give up memory, no owner
    within its share loses any. Only owners that used memory within `lapse_seconds` have a claim to a share. The memory
    of the others is given up first.

    The heap holds at least one entry for each owner that can lose memory. An entry is valid while its level equals the
    owner's. Stale entries are dropped when they reach the top, so a change costs O(log owners).

    Not thread-safe.
    """

    def __init__(
        self,
        owners: Owners,
        *,
        clock: Callable[[], float] = time.monotonic,
        lapse_seconds: float = LAPSE_SECONDS,
    ) -> None:
        self._owners = owners
        self._clock = clock
        self._lapse_seconds = lapse_seconds
        self._accounts: dict[Owner, _Account] = {}
        self._by_use: OrderedDict[Owner, None] = OrderedDict()
        self._heap: list[tuple[float, int, Owner]] = []
        self._ticks = itertools.count()

    @property
    def held(self) -> Mapping[Owner, int]:
        """Size held by owner, without owners that hold nothing."""
        return {owner: account.held for owner, account in self._accounts.items() if account.held}

    def level(self, owner: Owner) -> float:
        """Return the size that `owner` holds per weight; infinite once its claim has lapsed."""
        account = self._accounts.get(owner)
        return account.level if account is not None else 0.0

    def take(self, owner: Owner, size: int = 1) -> None:
        """Add `size` to the memory that `owner` holds. Counts as a use."""
        account = self._accounts.get(owner)
        if account is None:
            account = self._accounts[owner] = _Account(self._owners.weight(owner), self._clock())
        account.held += size
        self._use(owner, account)
        self._push(owner, account)

    def give(self, owner: Owner, size: int = 1) -> None:
        """Subtract `size` from the memory that `owner` holds. Owners that hold nothing are forgotten."""
        account = self._accounts[owner]
        account.held -= size
        assert account.held >= 0, "an owner released more than it held"
        if account.held == 0:
            del self._accounts[owner]
            self._by_use.pop(owner, None)
        else:
            self._push(owner, account)

    def use(self, owner: Owner) -> None:
        """Record that `owner` uses its memory. Has no effect if it holds none."""
        account = self._accounts.get(owner)
        if account is not None:
            was_lapsed = account.lapsed
            self._use(owner, account)
            if was_lapsed:
                self._push(owner, account)

    def enter(self, owner: Owner) -> None:
        """Mark `owner`, which must hold memory, as able to give some up."""
        account = self._accounts[owner]
        if not account.can_lose:
            account.can_lose = True
            self._push(owner, account)

    def leave(self, owner: Owner) -> None:
        """Mark `owner` as unable to give up memory."""
        account = self._accounts.get(owner)
        if account is not None:
            account.can_lose = False

    def first(self) -> Owner | None:
        """Return the owner that gives up memory next; None if no owner can."""
        self._lapse()
        while self._heap:
            negative, _, owner = self._heap[0]
            account = self._accounts.get(owner)
            if account is not None and account.can_lose and -negative == account.level:
                return owner
            heapq.heappop(self._heap)
        return None

    def _use(self, owner: Owner, account: _Account) -> None:
        account.used, account.lapsed = self._clock(), False
        self._by_use[owner] = None
        self._by_use.move_to_end(owner)

    def _lapse(self) -> None:
        """Revoke the claims of owners whose last use is too long ago."""
        limit = self._clock() - self._lapse_seconds
        while self._by_use:
            owner = next(iter(self._by_use))
            account = self._accounts[owner]
            if account.used > limit:
                return
            del self._by_use[owner]
            account.lapsed = True
            self._push(owner, account)

    def _push(self, owner: Owner, account: _Account) -> None:
        if not account.can_lose:
            return
        heapq.heappush(self._heap, (-account.level, next(self._ticks), owner))
        if len(self._heap) > 64 + 4 * len(self._accounts):
            self._heap = [(-its.level, next(self._ticks), each) for each, its in self._accounts.items() if its.can_lose]
            heapq.heapify(self._heap)


K = TypeVar("K", bound=bytes)
V = TypeVar("V")


class OwnedKeys(Generic[K, V]):
    """Values by key, each with a size, in the order of use within each owner. Not thread-safe.

    size: sum of the sizes of all values.
    """

    def __init__(self, owners: Owners, *, lapse_seconds: float = LAPSE_SECONDS) -> None:
        self._values: dict[Owner, OrderedDict[K, tuple[V, int]]] = {}
        self._shares = MemoryShares(owners, lapse_seconds=lapse_seconds)
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

    def items(self) -> Iterator[tuple[K, V]]:
        """Yield the keys of each owner, the least recently used first, with their values."""
        for values in self._values.values():
            for key, (value, _size) in values.items():
                yield key, value

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
