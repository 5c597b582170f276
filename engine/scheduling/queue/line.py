"""A priority queue without starvation."""

from engine.request.request import Request
from engine.scheduling.queue.sorted_requests import SortedRequests, by_priority, by_wait


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
