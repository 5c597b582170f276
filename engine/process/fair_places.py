"""A semaphore for costly work, shared fairly among tenants."""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from math import inf

from engine.api.errors import OverloadedError


def _too_many(waiting: int) -> OverloadedError:
    return OverloadedError(f"This tenant has {waiting} requests waiting to be prepared. Retry in 2 s.", retry_after=2)


class FairPlaces:
    """Places that tenants take one at a time. The waiting tenant that holds the fewest is served first.

    All methods must be called on the same event loop.
    Invariant: no place is free while a tenant that may take it waits.
    """

    def __init__(
        self,
        places: int,
        *,
        most_of_one: int | None = None,
        most_waiting: int | None = 64,
        most_in_all: int | None = None,
        refusal: Callable[[int], OverloadedError] = _too_many,
    ) -> None:
        """Create `places` free places.

        most_of_one: maximum number of places that one tenant may hold; None means all.
        most_waiting: maximum number of calls of one tenant that may wait for a place; None means any number.
        most_in_all: maximum number of calls of all tenants that hold a place or wait. A further call takes the last
            place in the longest line, unless its tenant's own line would then be longer. None means any number.
        refusal: makes the error for a call that may not wait, given the number of its tenant's calls that wait.
        """
        self._places = places
        self._free = places
        self._most_of_one = places if most_of_one is None else most_of_one
        self._most_waiting = inf if most_waiting is None else most_waiting
        self._most_in_all = inf if most_in_all is None else most_in_all
        self._refusal = refusal
        self._held = Counter[str]()
        # Least recently served tenant first.
        self._waiting = OrderedDict[str, deque[asyncio.Future[None]]]()

    async def take(self, tenant: str) -> None:
        """Take a place for `tenant`, waiting until one is free.

        Raise OverloadedError if too many calls are already waiting.
        """
        if self._may_take(tenant):
            self._give(tenant)
            return
        self._make_room(tenant)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(tenant, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.free(tenant)
            elif turn in self._waiting.get(tenant, ()):
                self._leave(tenant, turn)
            raise

    def free(self, tenant: str) -> None:
        """Release a place of `tenant`."""
        self._free += 1
        self._held[tenant] -= 1
        if not self._held[tenant]:
            del self._held[tenant]
        while (following := self._next()) is not None:
            line = self._waiting[following]
            turn = line.popleft()
            if line:
                self._waiting.move_to_end(following)
            else:
                del self._waiting[following]
            if not turn.done():
                self._give(following)
                turn.set_result(None)

    @asynccontextmanager
    async def place(self, tenant: str) -> AsyncIterator[None]:
        """Hold a place for `tenant` within the context. Raise OverloadedError as `take` does."""
        await self.take(tenant)
        try:
            yield
        finally:
            self.free(tenant)

    def _make_room(self, tenant: str) -> None:
        """Let one more call of `tenant` wait. Raise OverloadedError."""
        own = len(self._waiting.get(tenant, ()))
        if own >= self._most_waiting:
            raise self._refusal(own)
        if self._places - self._free + sum(map(len, self._waiting.values())) < self._most_in_all:
            return
        longest = max(self._waiting, key=lambda name: len(self._waiting[name]), default=tenant)
        if len(self._waiting.get(longest, ())) <= own + 1:
            raise self._refusal(own)
        last = self._waiting[longest][-1]
        self._leave(longest, last)
        if not last.done():
            last.set_exception(self._refusal(len(self._waiting.get(longest, ()))))

    def _leave(self, tenant: str, turn: "asyncio.Future[None]") -> None:
        line = self._waiting[tenant]
        line.remove(turn)
        if not line:
            del self._waiting[tenant]

    def _may_take(self, tenant: str) -> bool:
        return self._free > 0 and self._held[tenant] < self._most_of_one

    def _give(self, tenant: str) -> None:
        self._free -= 1
        self._held[tenant] += 1

    def _next(self) -> str | None:
        """Return the tenant to serve next; None if no waiting tenant may take a place."""
        ready = [tenant for tenant in self._waiting if self._may_take(tenant)]
        return min(ready, key=lambda tenant: self._held[tenant], default=None)
