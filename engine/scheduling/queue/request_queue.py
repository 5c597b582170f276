"""Who is next: one interface, one small class per policy."""

from typing import Protocol

from engine.request import Request


class RequestQueue(Protocol):
    """Requests that wait, and the rule that orders them. Times are seconds on the scheduler's clock.

    A request's `order`, `priority` and `wait_began` do not change while it is in here.
    """

    def __len__(self) -> int:
        """How many wait."""

    def accepts(self, tenant: str) -> bool:
        """Whether one more request of `tenant` may join; those that come back always may."""

    def add(self, request: Request) -> None:
        """It waits for its first turn."""

    def requeue(self, request: Request) -> None:
        """It had its turn and comes back, loaded or preempted: it keeps its place."""

    def peek(self, now: float) -> Request | None:
        """Whose turn it is; nobody else may begin before that one. Changes nothing."""

    def start(self, request: Request, now: float) -> None:
        """It leaves because its turn has come."""

    def remove(self, request: Request) -> None:
        """It leaves without a turn."""

    def charge(self, request: Request, num_tokens: int) -> None:
        """So many tokens are computed for it, whether they are its prompt's or its answer's."""

    def level(self, request: Request) -> float:
        """What a request that has had its turn is worth against others; a smaller level may take blocks of a larger."""
