"""Priority queueing, with priorities as in vLLM: a smaller one is served sooner."""

from collections import Counter
from collections.abc import Sequence
from math import inf

from engine.request.request import Request
from engine.scheduling.queue.line import Line


class PriorityQueue:
    """A RequestQueue of one Line. A request that returns keeps its place among requests of its priority.

    A request that has waited longer than `max_wait` ranks above every priority from then on. Only requests that arrived
    before it may still preempt it, and they finish eventually.
    """

    def __init__(self, max_waiting: int, max_wait: float) -> None:
        self._max_waiting = max_waiting
        self._max_wait = max_wait
        self._line = Line(max_wait)

    def __len__(self) -> int:
        return len(self._line)

    def accepts(self, tenant: str, following: Counter[str]) -> bool:  # noqa: ARG002
        """Return whether the queue has a place left."""
        return len(self._line) + following.total() < self._max_waiting

    def add(self, request: Request) -> None:
        """Add `request` after those of its priority; if it returns, at its former place."""
        self._line.add(request)

    def candidates(self, now: float) -> Sequence[Request]:
        """Return only the line's next request: no other may begin before it."""
        request = self._line.peek(now)
        return () if request is None else (request,)

    def is_overdue(self, request: Request, now: float) -> bool:
        """Return whether `request` has waited longer than `max_wait`."""
        return now - request.wait_began > self._max_wait

    def start(self, request: Request, now: float) -> None:
        """Remove `request`, whose turn has come."""
        self._line.start(request, now)

    def remove(self, request: Request) -> None:
        """Remove `request` without a turn."""
        self._line.remove(request)

    def charge(self, request: Request, num_tokens: int) -> None:
        """Do nothing: the order does not depend on service."""

    def level(self, request: Request) -> float:
        """Return the priority, or minus infinity, which ranks first, if the request became overdue in the queue."""
        return -inf if request.waited > self._max_wait else request.priority

    def urgency(self, request: Request) -> float:
        """Return the level: smaller is more urgent."""
        return self.level(request)

    def tenant_of(self, request: Request) -> str:  # noqa: ARG002
        """Return the same name for every request: tenants are not told apart."""
        return ""

    def weight_of(self, tenant: str) -> float:  # noqa: ARG002
        """Return 1."""
        return 1.0
