"""Weighted fair sharing between tenants: whoever was served least, for its weight, is next.

The virtual token counter of Sheng et al., "Fairness in Serving Large Language Models" (OSDI 2024), which is start-time
fair queueing with tokens for time. What departs from it: tokens are counted when they are computed, so a prompt found
in a cache costs its tenant nothing; a tenant has a maximum wait; inside a tenant, priorities hold.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from math import ceil

from engine.request import Request
from engine.scheduling.queue.line import Line

DEFAULT_WEIGHT = 1.0
MOST_OVER_FULL = 2
MOST_CANDIDATES = 16
"""Tenants whose next request is tried in one step, if there is no room for those before it."""


@dataclass(slots=True)
class _TenantLine:
    """A tenant that has somebody waiting. since: when it had its last turn, or began to wait."""

    tenant: str
    line: Line
    since: float


class FairQueue:
    """A RequestQueue with one Line per tenant.

    `_served[tenant]` is the virtual service: tokens computed for it over its weight, raised to the smallest of those
    who wait when it comes to wait itself, so that idleness earns no credit. Between two tenants that both wait all the
    time, it differs by no more than what one step and one tenant's running requests can compute.

    A tenant without a turn for `max_wait` seconds is next; as in a Line, for every second turn at most. The tenant is
    overdue and not its request: else a tenant that floods the queue would be overdue with all that it sent, and be
    served before everybody. One tenant alone has the order of a Line, and with equal priorities that of arrival.

    A request that comes back, loaded or preempted, waits in its tenant's line, at the place that it had there.
    """

    def __init__(self, max_waiting: int, max_wait: float, weights: Mapping[str, float]) -> None:
        self._max_waiting = max_waiting
        self._max_wait = max_wait
        self._weights = weights
        self._lines: dict[str, _TenantLine] = {}
        self._served: dict[str, float] = {}
        self._last_left: str | None = None
        self._overdue_had_turn = False
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def accepts(self, tenant: str, following: Counter[str]) -> bool:
        """Tell whether `tenant` is within its share of the queue: then it is let in although others filled it."""
        mine = self._lines.get(tenant)
        active = sum(self.weight_of(name) for name in self._lines) + (self.weight_of(tenant) if mine is None else 0.0)
        share = share_of_queue(self._max_waiting, self.weight_of(tenant), active)
        waiting = following[tenant] + (len(mine.line) if mine is not None else 0)
        return waiting < share and self._length + following.total() < MOST_OVER_FULL * self._max_waiting

    def add(self, request: Request) -> None:
        """Put it in its tenant's line, at the place that it had there if it comes back."""
        tenant = request.tenant
        mine = self._lines.get(tenant)
        if mine is None:
            self._served[tenant] = max(self._served.get(tenant, 0.0), self._least_served())
            mine = self._lines[tenant] = _TenantLine(tenant, Line(self._max_wait), request.wait_began + request.waited)
        mine.line.add(request)
        self._length += 1

    def candidates(self, now: float) -> Sequence[Request]:
        """Return the next request of each tenant: of the overdue one first, then of those that were served least."""
        overdue = self._next_overdue(now)
        lines = nsmallest(MOST_CANDIDATES, self._lines.values(), key=lambda mine: self._served[mine.tenant])
        if overdue is not None:
            lines = [overdue, *(mine for mine in lines if mine is not overdue)]
        return [request for mine in lines if (request := mine.line.peek(now)) is not None]

    def is_overdue(self, request: Request, now: float) -> bool:
        """Tell whether its tenant is the one that has been without a turn for too long."""
        overdue = self._next_overdue(now)
        return overdue is not None and overdue.tenant == request.tenant

    def start(self, request: Request, now: float) -> None:
        """Take it out: its tenant has its turn."""
        self._length -= 1
        mine = self._lines[request.tenant]
        self._overdue_had_turn = mine is self._next_overdue(now)
        mine.since = now
        mine.line.start(request, now)
        self._close_if_empty(mine)

    def remove(self, request: Request) -> None:
        """Take it out without a turn."""
        self._length -= 1
        mine = self._lines[request.tenant]
        mine.line.remove(request)
        self._close_if_empty(mine)

    def charge(self, request: Request, num_tokens: int) -> None:
        """On its tenant's account; computed again after a preemption counts again."""
        self._served[request.tenant] += num_tokens / self.weight_of(request.tenant)

    def level(self, request: Request) -> float:  # noqa: ARG002
        """All are equal: a priority is a word between a tenant's own requests, not against others'."""
        return 0.0

    def urgency(self, request: Request) -> float:
        """Return its priority, which counts between a tenant's own requests."""
        return request.priority

    def tenant_of(self, request: Request) -> str:
        """Return its tenant."""
        return request.tenant

    def weight_of(self, tenant: str) -> float:
        """Return the weight of `tenant`, 1 if none is set."""
        return self._weights.get(tenant, DEFAULT_WEIGHT)

    def _least_served(self) -> float:
        """Of those who wait; when nobody does, of the last who did, who may be served still."""
        names = self._lines or ([self._last_left] if self._last_left is not None else [])
        return min((self._served[name] for name in names), default=0.0)

    def _close_if_empty(self, mine: _TenantLine) -> None:
        if not mine.line:
            del self._lines[mine.tenant]
            self._last_left = mine.tenant

    def _next_overdue(self, now: float) -> _TenantLine | None:
        if not self._lines:
            return None
        longest = min(self._lines.values(), key=lambda mine: mine.since)
        return None if self._overdue_had_turn or now - longest.since <= self._max_wait else longest


def share_of_queue(max_waiting: int, weight: float, active_weight: float) -> int:
    """Places for a tenant of `weight`, when those who wait, it included, weigh `active_weight`; at least one."""
    return max(1, ceil(max_waiting * weight / active_weight))
