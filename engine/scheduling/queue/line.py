"""Lines of waiting requests: sorted by any order, and first-come with urgency."""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator

from engine.request.request import Request

Key = tuple[float, ...]


class SortedRequests:
    """Requests sorted by `key`, which must be unique and must not change while a request is in the collection.

    A sorted list: at the length of a request queue, moving pointers is cheaper than any tree, and iteration is ordered.
    """

    def __init__(self, key: Callable[[Request], Key]) -> None:
        self._key = key
        self._requests: list[Request] = []

    def __len__(self) -> int:
        return len(self._requests)

    def __iter__(self) -> Iterator[Request]:
        return iter(self._requests)

    def __contains__(self, request: Request) -> bool:
        index = self._index(request)
        return index < len(self._requests) and self._requests[index] is request

    @property
    def first(self) -> Request | None:
        """The request with the smallest key; None if there is none."""
        return self._requests[0] if self._requests else None

    def add(self, request: Request) -> None:
        """Insert `request` at its place."""
        insort(self._requests, request, key=self._key)

    def remove(self, request: Request) -> None:
        """Remove `request`, which must be in the collection."""
        assert request in self
        del self._requests[self._index(request)]

    def _index(self, request: Request) -> int:
        return bisect_left(self._requests, self._key(request), key=self._key)


def by_arrival(request: Request) -> Key:
    """Order requests first come, first served."""
    return (request.order,)


def by_priority(request: Request) -> Key:
    """Order requests by priority, then first come, first served."""
    return (request.priority, request.order)


def by_wait(request: Request) -> Key:
    """Order requests by the time spent waiting, longest first. Time outside the queue does not count."""
    return (request.wait_began, request.order)


class Line:
    """Requests by priority, smallest first, then by arrival.

    A request that has waited longer than `max_wait` seconds is overdue and goes first, but overdue requests get every
    second turn at most. Otherwise, under a load that makes every request overdue, all turns would go by arrival and
    priorities would have no effect. An overdue request with n overdue ones ahead of it starts after at most 2 n + 2
    turns.
    """

    def __init__(self, max_wait: float) -> None:
        self._max_wait = max_wait
        self._by_priority = SortedRequests(by_priority)
        self._by_wait = SortedRequests(by_wait)
        self._overdue_had_turn = False

    def __len__(self) -> int:
        return len(self._by_priority)

    def add(self, request: Request) -> None:
        """Add `request`; if it returns, at its former place."""
        self._by_priority.add(request)
        self._by_wait.add(request)

    def peek(self, now: float) -> Request | None:
        """Return the request whose turn it is; None if the line is empty."""
        return self._next_overdue(now) or self._by_priority.first

    def start(self, request: Request, now: float) -> None:
        """Remove `request`, whose turn has come."""
        self._overdue_had_turn = request is self._next_overdue(now)
        self.remove(request)

    def remove(self, request: Request) -> None:
        """Remove `request` without a turn."""
        self._by_priority.remove(request)
        self._by_wait.remove(request)

    def _next_overdue(self, now: float) -> Request | None:
        longest = self._by_wait.first
        if self._overdue_had_turn or longest is None or now - longest.wait_began <= self._max_wait:
            return None
        return longest
