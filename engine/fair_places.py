"""A semaphore for costly work, shared fairly among tenants."""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from engine.errors import OverloadedError


class FairPlaces:
    """Places that tenants take one at a time. The waiting tenant that holds the fewest is served first.

    All methods must be called on the same event loop.
    Invariant: no place is free while a tenant that may take it waits.
    """

    def __init__(self, places: int, *, most_of_one: int | None = None, most_waiting: int = 64) -> None:
        """Create `places` free places.

        most_of_one: maximum number of places that one tenant may hold; None means all.
        most_waiting: maximum number of calls of one tenant that may wait for a place.
        """
        self._free = places
        self._most_of_one = places if most_of_one is None else most_of_one
        self._most_waiting = most_waiting
        self._held = Counter[str]()
        # Least recently served tenant first.
        self._waiting = OrderedDict[str, deque[asyncio.Future[None]]]()

    async def take(self, tenant: str) -> None:
        """Take a place for `tenant`, waiting until one is free.

        Raises OverloadedError if too many calls of the tenant are already waiting.
        """
        if self._may_take(tenant):
            self._give(tenant)
            return
        line = self._waiting.setdefault(tenant, deque())
        if len(line) >= self._most_waiting:
            raise OverloadedError(
                f"This tenant has {len(line)} requests waiting to be prepared. Retry in 2 s.", retry_after=2
            )
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        line.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.free(tenant)
            elif turn in line:
                line.remove(turn)
                if not line:
                    self._waiting.pop(tenant, None)
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
        """Hold a place for `tenant` within the context. Raises OverloadedError as `take` does."""
        await self.take(tenant)
        try:
            yield
        finally:
            self.free(tenant)

    def _may_take(self, tenant: str) -> bool:
        return self._free > 0 and self._held[tenant] < self._most_of_one

    def _give(self, tenant: str) -> None:
        self._free -= 1
        self._held[tenant] += 1

    def _next(self) -> str | None:
        """Return the tenant to serve next; None if no waiting tenant may take a place."""
        ready = [tenant for tenant in self._waiting if self._may_take(tenant)]
        return min(ready, key=lambda tenant: self._held[tenant], default=None)
