"""Interface of the queue of waiting requests, with one implementation per policy."""

from collections import Counter
from collections.abc import Sequence
from typing import Protocol

from engine.request.request import Request


class RequestQueue(Protocol):
    """Waiting requests and their order. Times are seconds on the scheduler's clock.

    A request's `order`, `priority` and `wait_began` must not change while it is in the queue.
    """

    def __len__(self) -> int:
        """Return the number of waiting requests."""

    def accepts(self, tenant: str, following: Counter[str]) -> bool:
        """Return whether a new request of `tenant` may join. Requests that return always may.

        following: by tenant, the number of requests that left the queue to wait for another request's prefix.
        """

    def add(self, request: Request) -> None:
        """Add `request`; if it returns, loaded or preempted, at its former place."""

    def candidates(self, now: float) -> Sequence[Request]:
        """Return, without changing the queue, the requests that may begin. The one whose turn it is comes first.

        Each of the others may begin only if there is no room for the ones before it.
        """

    def is_overdue(self, request: Request, now: float) -> bool:
        """Return whether a candidate has waited so long that candidates of a lower rank must not overtake it."""

    def start(self, request: Request, now: float) -> None:
        """Remove `request`, whose turn has come."""

    def remove(self, request: Request) -> None:
        """Remove `request` without a turn."""

    def charge(self, request: Request, num_tokens: int) -> None:
        """Account for `num_tokens` that are computed for `request`, of its prompt or its answer."""

    def level(self, request: Request) -> float:
        """Return the level of a request: a running request may take blocks from requests of a larger level."""

    def urgency(self, request: Request) -> float:
        """Return a number that orders the prompts of one tenant in a step: the smallest gets tokens first."""

    def tenant_of(self, request: Request) -> str:
        """Return the tenant whose share of the batch, the blocks and each step's tokens `request` uses."""

    def weight_of(self, tenant: str) -> float:
        """Return the weight of that share."""
