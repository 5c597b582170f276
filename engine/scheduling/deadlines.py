"""Deadlines by which requests must start and finish."""

from math import inf

from engine.api.outputs import FinishReason
from engine.request.request import Request
from engine.scheduling.queue.line import Key, SortedRequests


class Deadlines:
    """Deadlines of unfinished requests. Times are seconds on the scheduler's clock."""

    def __init__(self) -> None:
        self._ends = SortedRequests(_by_deadline)
        self._starts = SortedRequests(_by_start)

    @property
    def next_at(self) -> float | None:
        """The earliest deadline; None if no request has one."""
        end, start = self._ends.first, self._starts.first
        earliest = min(end.deadline if end else inf, start.start_by if start else inf)
        return earliest if earliest < inf else None

    def add(self, request: Request) -> None:
        """Track the deadlines of a new request, if it has any."""
        if request.deadline < inf:
            self._ends.add(request)
        if request.start_by < inf:
            self._starts.add(request)

    def on_start(self, request: Request) -> None:
        """Drop the start deadline of `request`, which has had its first turn."""
        if request in self._starts:
            self._starts.remove(request)

    def remove(self, request: Request) -> None:
        """Drop all deadlines of `request`, which has finished."""
        self.on_start(request)
        if request in self._ends:
            self._ends.remove(request)

    def due(self, now: float) -> tuple[Request, FinishReason] | None:
        """Return one expired request and its finish reason; None if no deadline has passed.

        The caller finishes the request and calls again.
        """
        request = self._ends.first
        if request is not None and request.deadline <= now:
            return request, "timeout"
        request = self._starts.first
        if request is not None and request.start_by <= now:
            return request, "queue_timeout"
        return None


def _by_deadline(request: Request) -> Key:
    return (request.deadline, request.order)


def _by_start(request: Request) -> Key:
    return (request.start_by, request.order)
