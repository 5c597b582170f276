"""First come, first served."""

from engine.request import Request
from engine.scheduling.queue.sorted_requests import SortedRequests, by_arrival


class FcfsQueue:
    """A RequestQueue that knows nothing but the order of arrivals: who comes back stands before all who came later."""

    def __init__(self, max_waiting: int) -> None:
        self._max_waiting = max_waiting
        self._requests = SortedRequests(by_arrival)

    def __len__(self) -> int:
        return len(self._requests)

    def accepts(self, tenant: str) -> bool:  # noqa: ARG002
        """While the queue is not full."""
        return len(self._requests) < self._max_waiting

    def add(self, request: Request) -> None:
        """Last."""
        self._requests.add(request)

    def requeue(self, request: Request) -> None:
        """At its place."""
        self._requests.add(request)

    def peek(self, now: float) -> Request | None:  # noqa: ARG002
        """The oldest."""
        return self._requests.first

    def start(self, request: Request, now: float) -> None:  # noqa: ARG002
        """It leaves."""
        self._requests.remove(request)

    def remove(self, request: Request) -> None:
        """It leaves."""
        self._requests.remove(request)

    def charge(self, request: Request, num_tokens: int) -> None:
        """Nobody counts."""

    def level(self, request: Request) -> float:  # noqa: ARG002
        """All are equal."""
        return 0.0
