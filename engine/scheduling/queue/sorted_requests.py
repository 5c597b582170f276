"""A sorted collection of requests."""

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
