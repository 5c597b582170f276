"""Requests in an order that is kept as they come and go."""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator

from engine.request import Request

Key = tuple[float, ...]


class SortedRequests:
    """`key` gives each request a place of its own, which does not change while it is in here.

    A sorted list: at the lengths of a queue, moving pointers is cheaper than any tree, and the order can be read.
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
        """The one with the smallest key."""
        return self._requests[0] if self._requests else None

    def add(self, request: Request) -> None:
        """Put it in its place."""
        insort(self._requests, request, key=self._key)

    def remove(self, request: Request) -> None:
        """Take it out; it must be in here."""
        assert request in self
        del self._requests[self._index(request)]

    def _index(self, request: Request) -> int:
        return bisect_left(self._requests, self._key(request), key=self._key)


def by_arrival(request: Request) -> Key:
    """First come, first served."""
    return (request.order,)


def by_priority(request: Request) -> Key:
    """By priority; first come, first served inside one."""
    return (request.priority, request.order)


def by_wait(request: Request) -> Key:
    """Who has waited longest, without the time in which it was served."""
    return (request.wait_began, request.order)
