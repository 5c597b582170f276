"""Who is next: one interface, one small class per policy."""

from collections import Counter
from collections.abc import Sequence
from typing import Protocol

from engine.request import Request


class RequestQueue(Protocol):
    """Requests that wait, and the rule that orders them. Times are seconds on the scheduler's clock.

    A request's `order`, `priority` and `wait_began` do not change while it is in here.
    """

    def __len__(self) -> int:
        """How many wait."""

    def accepts(self, tenant: str, following: Counter[str]) -> bool:
        """Tell whether one more request of `tenant` may join; those that come back always may.

        following: by tenant, how many requests left the queue to wait for another one's computation.
        """

    def add(self, request: Request) -> None:
        """Let it wait for its turn; if it comes back, loaded or preempted, at the place that it had."""

    def candidates(self, now: float) -> Sequence[Request]:
        """Return the requests that may begin, the one whose turn it is first. Changes nothing.

        The others may begin if there is no room for those before them.
        """

    def is_overdue(self, request: Request, now: float) -> bool:
        """Tell whether a candidate has waited so long that candidates behind it in rank must not pass it."""

    def start(self, request: Request, now: float) -> None:
        """It leaves because its turn has come."""

    def remove(self, request: Request) -> None:
        """It leaves without a turn."""

    def charge(self, request: Request, num_tokens: int) -> None:
        """So many tokens are computed for it, whether they are its prompt's or its answer's."""

    def level(self, request: Request) -> float:
        """What a request that has had its turn is worth against others; a smaller level may take blocks of a larger."""

    def urgency(self, request: Request) -> float:
        """Return which of a tenant's prompts gets tokens first: the one with the smaller number."""

    def tenant_of(self, request: Request) -> str:
        """Return the party with which `request` shares its part of the batch, the blocks and each step's tokens."""

    def weight_of(self, tenant: str) -> float:
        """Return the weight of that part."""
