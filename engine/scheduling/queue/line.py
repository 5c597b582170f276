"""A line by priority in which nobody is overtaken for ever."""

from engine.request import Request
from engine.scheduling.queue.sorted_requests import SortedRequests, by_priority, by_wait


class Line:
    """Smaller priorities first, first come first served inside one. Who waits for more than `max_wait` seconds is next.

    That holds for every second turn at most. Under a load that makes everybody wait so long, all turns would else go by
    arrival and a priority would mean nothing; so it means something in one half of them, and in the other half the line
    of the overdue moves on: with n of them before it, an overdue request begins after at most 2 n + 2 turns.
    """

    def __init__(self, max_wait: float) -> None:
        self._max_wait = max_wait
        self._by_priority = SortedRequests(by_priority)
        self._by_wait = SortedRequests(by_wait)
        self._overdue_had_turn = False

    def __len__(self) -> int:
        return len(self._by_priority)

    def add(self, request: Request) -> None:
        """At its place, which is the one that it had if it comes back."""
        self._by_priority.add(request)
        self._by_wait.add(request)

    def peek(self, now: float) -> Request | None:
        """Whose turn it is."""
        return self._next_overdue(now) or self._by_priority.first

    def start(self, request: Request, now: float) -> None:
        """It had its turn."""
        self._overdue_had_turn = request is self._next_overdue(now)
        self.remove(request)

    def remove(self, request: Request) -> None:
        """It leaves."""
        self._by_priority.remove(request)
        self._by_wait.remove(request)

    def _next_overdue(self, now: float) -> Request | None:
        longest = self._by_wait.first
        if self._overdue_had_turn or longest is None or now - longest.wait_began <= self._max_wait:
            return None
        return longest
