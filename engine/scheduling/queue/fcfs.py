"""First come, first served."""

from collections import Counter
from collections.abc import Sequence

from engine.request import Request
from engine.scheduling.queue.sorted_requests import SortedRequests, by_arrival


class FcfsQueue:
    """A RequestQueue that knows nothing but the order of arrivals: who comes back stands before all who came later."""

    def __init__(self, max_waiting: int) -> None:
        self._max_waiting = max_waiting
        self._requests = SortedRequests(by_arrival)

    def __len__(self) -> int:
        return len(self._requests)

    def accepts(self, tenant: str, following: Counter[str]) -> bool:  # noqa: ARG002
        """Tell whether the queue has a place left."""
        return len(self._requests) + following.total() < self._max_waiting

    def add(self, request: Request) -> None:
        """Put it at the place that its arrival gives it."""
        self._requests.add(request)

    def candidates(self, now: float) -> Sequence[Request]:  # noqa: ARG002
        """Return the oldest request alone: no other may begin before it."""
        return () if self._requests.first is None else (self._requests.first,)

    def is_overdue(self, request: Request, now: float) -> bool:  # noqa: ARG002
        """Return False: no order but that of arrival is kept."""
        return False

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

    def urgency(self, request: Request) -> float:
        """Return the number of its arrival: earlier is more urgent."""
        return request.order

    def tenant_of(self, request: Request) -> str:  # noqa: ARG002
        """Return one name for all: nothing is divided between tenants."""
        return ""

    def weight_of(self, tenant: str) -> float:  # noqa: ARG002
        """Return 1."""
        return 1.0
