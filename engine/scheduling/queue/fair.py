"""Weighted fair queueing between tenants: the tenant that was served least for its weight is next.

This is the virtual token counter of Sheng et al., "Fairness in Serving Large Language Models" (OSDI 2024): start-time
fair queueing with tokens in place of time. There are three differences. Tokens are counted when they are computed, so a
cached prompt costs its tenant nothing. A tenant has a maximum wait. Priorities order the requests of one tenant.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from math import ceil

from cache_tiers.owners.fair_division import ServiceAccounts
from engine.request.request import Request
from engine.scheduling.queue.line import Line

DEFAULT_WEIGHT = 1.0
MAX_OVER_FULL = 2
"""Limit of the queue's length for tenants within their share, as a multiple of `max_waiting`."""
MAX_CANDIDATES = 16
"""Number of tenants whose next request is tried in one step if there is no room for the requests before it."""


@dataclass(slots=True)
class _TenantLine:
    """A tenant with at least one waiting request."""

    tenant: str
    line: Line
    since: float
    """Time of the tenant's last turn, or of the start of its wait if it has had none since."""


class FairQueue:
    """A RequestQueue with one Line per tenant.

    `_accounts` has the virtual service of each tenant: tokens computed for the tenant, divided by its weight. When the
    tenant starts to wait, the value is raised to the smallest one among waiting tenants. Between two tenants that
    always wait, the values differ by at most the tokens that one step and one tenant's running requests can compute.

    A tenant without a turn for `max_wait` seconds is next. As in a Line, overdue tenants get at most every second turn.
    Tenants become overdue, not requests. Otherwise all requests of a tenant that floods the queue would be overdue, and
    served before every other tenant's. The requests of a single tenant have the order of a Line, which is the order of
    arrival if all priorities are equal.

    A request that returns, loaded or preempted, waits in its tenant's line at its former place.
    """

    def __init__(self, max_waiting: int, max_wait: float, weights: Mapping[str, float]) -> None:
        self._max_waiting = max_waiting
        self._max_wait = max_wait
        self._weights = weights
        self._lines: dict[str, _TenantLine] = {}
        self._accounts = ServiceAccounts(self.weight_of)
        self._last_left: str | None = None
        self._overdue_had_turn = False
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def accepts(self, tenant: str, following: Counter[str]) -> bool:
        """Return whether `tenant` is within its share of the queue, which it may use even if others fill the queue."""
        mine = self._lines.get(tenant)
        active = sum(self.weight_of(name) for name in self._lines) + (self.weight_of(tenant) if mine is None else 0.0)
        share = share_of_queue(self._max_waiting, self.weight_of(tenant), active)
        waiting = following[tenant] + (len(mine.line) if mine is not None else 0)
        return waiting < share and self._length + following.total() < MAX_OVER_FULL * self._max_waiting

    def add(self, request: Request) -> None:
        """Add `request` to its tenant's line; if it returns, at its former place."""
        tenant = request.tenant
        mine = self._lines.get(tenant)
        if mine is None:
            self._accounts.join(tenant, self._least_served())
            mine = self._lines[tenant] = _TenantLine(tenant, Line(self._max_wait), request.wait_began + request.waited)
        mine.line.add(request)
        self._length += 1

    def candidates(self, now: float) -> Sequence[Request]:
        """Return the next request of each tenant: the overdue tenant's first, then the least served first."""
        overdue = self._next_overdue(now)
        lines = nsmallest(MAX_CANDIDATES, self._lines.values(), key=lambda mine: self._accounts.level(mine.tenant))
        if overdue is not None:
            lines = [overdue, *(mine for mine in lines if mine is not overdue)]
        return [request for mine in lines if (request := mine.line.peek(now)) is not None]

    def is_overdue(self, request: Request, now: float) -> bool:
        """Return whether the tenant of `request` is the overdue one that is next."""
        overdue = self._next_overdue(now)
        return overdue is not None and overdue.tenant == request.tenant

    def start(self, request: Request, now: float) -> None:
        """Remove `request`, whose turn has come, and count it as its tenant's turn."""
        self._length -= 1
        mine = self._lines[request.tenant]
        self._overdue_had_turn = mine is self._next_overdue(now)
        mine.since = now
        mine.line.start(request, now)
        self._close_if_empty(mine)

    def remove(self, request: Request) -> None:
        """Remove `request` without a turn."""
        self._length -= 1
        mine = self._lines[request.tenant]
        mine.line.remove(request)
        self._close_if_empty(mine)

    def charge(self, request: Request, num_tokens: int) -> None:
        """Charge `num_tokens` to the tenant. Tokens that are recomputed after a preemption are charged again."""
        self._accounts.charge(request.tenant, num_tokens)

    def level(self, request: Request) -> float:  # noqa: ARG002
        """Return 0.0 for every request: a priority orders the requests of one tenant, not those of several."""
        return 0.0

    def urgency(self, request: Request) -> float:
        """Return the priority, which orders the requests of one tenant."""
        return request.priority

    def tenant_of(self, request: Request) -> str:
        """Return the tenant of `request`."""
        return request.tenant

    def weight_of(self, tenant: str) -> float:
        """Return the weight of `tenant`, 1 if none is set."""
        return self._weights.get(tenant, DEFAULT_WEIGHT)

    def _least_served(self) -> float:
        """Return the smallest virtual service among waiting tenants.

        If no tenant waits, return the value of the last tenant that waited, whose requests may still be running. If no
        tenant has ever waited, return 0.0.
        """
        names = self._lines or ([self._last_left] if self._last_left is not None else [])
        return min(map(self._accounts.level, names), default=0.0)

    def _close_if_empty(self, mine: _TenantLine) -> None:
        if not mine.line:
            del self._lines[mine.tenant]
            self._last_left = mine.tenant
            self._accounts.forget(self._least_served(), self._lines or {mine.tenant})

    def _next_overdue(self, now: float) -> _TenantLine | None:
        if not self._lines:
            return None
        longest = min(self._lines.values(), key=lambda mine: mine.since)
        return None if self._overdue_had_turn or now - longest.since <= self._max_wait else longest


def share_of_queue(max_waiting: int, weight: float, active_weight: float) -> int:
    """Return how many places of the queue a tenant of `weight` may fill, at least one.

    active_weight: weight of all waiting tenants, including this one.
    """
    return max(1, ceil(max_waiting * weight / active_weight))
