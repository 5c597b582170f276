"""First come, first served."""

from collections import Counter
from collections.abc import Sequence

from engine.request.request import Request
from engine.scheduling.queue.line import SortedRequests, by_arrival


class FcfsQueue:
    """A RequestQueue in order of arrival. A request that returns is ahead of all requests that arrived after it."""

    def __init__(self, max_waiting: int) -> None:
        self._max_waiting = max_waiting
        self._requests = SortedRequests(by_arrival)

    def __len__(self) -> int:
        return len(self._requests)

    def accepts(self, tenant: str, following: Counter[str]) -> bool:  # noqa: ARG002
        """Return whether the queue has a place left."""
        return len(self._requests) + following.total() < self._max_waiting

    def add(self, request: Request) -> None:
        """Add `request` at the place that its arrival gives it."""
        self._requests.add(request)

    def candidates(self, now: float) -> Sequence[Request]:  # noqa: ARG002
        """Return only the oldest request: no other may begin before it."""
        return () if self._requests.first is None else (self._requests.first,)

    def is_overdue(self, request: Request, now: float) -> bool:  # noqa: ARG002
        """Return False: there is only the order of arrival."""
        return False

    def start(self, request: Request, now: float) -> None:  # noqa: ARG002
        """Remove `request`, whose turn has come."""
        self._requests.remove(request)

    def remove(self, request: Request) -> None:
        """Remove `request` without a turn."""
        self._requests.remove(request)

    def charge(self, request: Request, num_tokens: int) -> None:
        """Do nothing: the order does not depend on service."""

    def level(self, request: Request) -> float:  # noqa: ARG002
        """Return 0.0 for every request: there are no levels."""
        return 0.0

    def urgency(self, request: Request) -> float:
        """Return the arrival number: earlier is more urgent."""
        return request.order

    def tenant_of(self, request: Request) -> str:  # noqa: ARG002
        """Return the same name for every request: tenants are not told apart."""
        return ""

    def weight_of(self, tenant: str) -> float:  # noqa: ARG002
        """Return 1."""
        return 1.0
