"""Division of one memory among its owners: what each holds, and which of them gives some up next."""

import heapq
import itertools
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Final

from cache_tiers.block_key import Owner
from cache_tiers.owners import Owners

LAPSE_SECONDS: Final = 3600.0
"""After which an owner that uses nothing has no claim to a share any more."""


@dataclass(slots=True)
class _Account:
    """weight: of the owner, fixed for as long as it holds something.

    held: in the unit of the memory, such as blocks or bytes.

    can_lose: whether some of it could be given up now.
    used: when the owner last used any of it, on the clock.
    lapsed: whether that was too long ago.
    """

    weight: float
    used: float
    held: int = 0
    can_lose: bool = False
    lapsed: bool = False

    @property
    def level(self) -> float:
        """The size held per weight: infinite once the claim has lapsed."""
        return inf if self.lapsed else self.held / self.weight


class MemoryShares:
    """Weighted max-min fairness: the owner that holds most for its weight gives up first. Not thread-safe.

    So the memory is all of the one who is alone, and an owner within its share never loses to one above it that has
    something to give up. The shares are those of the owners that used something within `lapse_seconds`; what the
    others hold goes first.

    The heap holds at least one entry for each owner that can lose. An entry is valid while its level is the owner's;
    the others are dropped when they come to the top, so a change costs O(log owners).
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
        """The size that each owner holds; owners that hold nothing are left out."""
        return {owner: account.held for owner, account in self._accounts.items() if account.held}

    def level(self, owner: Owner) -> float:
        """Return what `owner` holds for its weight: infinite once its claim has lapsed."""
        account = self._accounts.get(owner)
        return account.level if account is not None else 0.0

    def take(self, owner: Owner, size: int = 1) -> None:
        """Charge `owner` with `size` more, and count that as a use."""
        account = self._accounts.get(owner)
        if account is None:
            account = self._accounts[owner] = _Account(self._owners.weight(owner), self._clock())
        account.held += size
        self._use(owner, account)
        self._push(owner, account)

    def give(self, owner: Owner, size: int = 1) -> None:
        """Charge `owner` with `size` less. An owner that holds nothing is forgotten."""
        account = self._accounts[owner]
        account.held -= size
        assert account.held >= 0, "an owner gave up more than it held"
        if account.held == 0:
            del self._accounts[owner]
            self._by_use.pop(owner, None)
        else:
            self._push(owner, account)

    def use(self, owner: Owner) -> None:
        """Note that `owner` uses something that it holds; nothing changes for one that holds nothing."""
        account = self._accounts.get(owner)
        if account is not None:
            was_lapsed = account.lapsed
            self._use(owner, account)
            if was_lapsed:
                self._push(owner, account)

    def enter(self, owner: Owner) -> None:
        """Note that `owner`, which holds something, could give some of it up from now on."""
        account = self._accounts[owner]
        if not account.can_lose:
            account.can_lose = True
            self._push(owner, account)

    def leave(self, owner: Owner) -> None:
        """Note that `owner` has nothing that it could give up."""
        account = self._accounts.get(owner)
        if account is not None:
            account.can_lose = False

    def first(self) -> Owner | None:
        """Return the owner that gives up next; None if none of them can."""
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
        """Take the claim of the owners whose last use was too long ago."""
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
