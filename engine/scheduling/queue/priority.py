"""By priority, as vLLM's requests carry it: smaller is sooner."""

from collections import Counter
from collections.abc import Sequence
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

    def accepts(self, tenant: str, following: Counter[str]) -> bool:  # noqa: ARG002
        """Tell whether the queue has a place left."""
        return len(self._line) + following.total() < self._max_waiting

    def add(self, request: Request) -> None:
        """Put it behind its priority's, or at the place that it had."""
        self._line.add(request)

    def candidates(self, now: float) -> Sequence[Request]:
        """Return the line's next request alone: no other may begin before it."""
        request = self._line.peek(now)
        return () if request is None else (request,)

    def is_overdue(self, request: Request, now: float) -> bool:
        """Tell whether `request` has waited longer than the maximum."""
        return now - request.wait_began > self._max_wait

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

    def urgency(self, request: Request) -> float:
        """Return its level: smaller is more urgent."""
        return self.level(request)

    def tenant_of(self, request: Request) -> str:  # noqa: ARG002
        """Return one name for all: nothing is divided between tenants."""
        return ""

    def weight_of(self, tenant: str) -> float:  # noqa: ARG002
        """Return 1."""
        return 1.0
