"""By priority, as vLLM's requests carry it: smaller is sooner."""

from math import inf

from engine.request import Request
from engine.scheduling.queue.line import Line


class PriorityQueue:
    """A RequestQueue of one Line: a request that comes back keeps its place among those of its priority.

    A request that had to wait longer than `max_wait` counts as more than any priority from then on: it is not preempted
    for one that came later, so the requests that may still stop it are those that came before, and they come to an end.
    """

    def __init__(self, max_waiting: int, max_wait: float) -> None:
        self._max_waiting = max_waiting
        self._max_wait = max_wait
        self._line = Line(max_wait)

    def __len__(self) -> int:
        return len(self._line)

    def accepts(self, tenant: str) -> bool:  # noqa: ARG002
        """While the queue is not full."""
        return len(self._line) < self._max_waiting

    def add(self, request: Request) -> None:
        """Behind its priority's."""
        self._line.add(request)

    def requeue(self, request: Request) -> None:
        """At its place."""
        self._line.add(request)

    def peek(self, now: float) -> Request | None:
        """The line's next."""
        return self._line.peek(now)

    def start(self, request: Request, now: float) -> None:
        """It leaves."""
        self._line.start(request, now)

    def remove(self, request: Request) -> None:
        """It leaves."""
        self._line.remove(request)

    def charge(self, request: Request, num_tokens: int) -> None:
        """Nobody counts."""

    def level(self, request: Request) -> float:
        """Its priority, or more than any once it was overdue."""
        return -inf if request.waited > self._max_wait else request.priority
