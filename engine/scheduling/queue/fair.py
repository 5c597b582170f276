"""Weighted fair sharing between tenants: whoever was served least, for its weight, is next.

The virtual token counter of Sheng et al., "Fairness in Serving Large Language Models" (OSDI 2024), which is start-time
fair queueing with tokens for time. What departs from it: tokens are counted when they are computed, so a prompt found
in a cache costs its tenant nothing; a tenant has a maximum wait; inside a tenant, priorities hold.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil

from engine.request import Request
from engine.scheduling.queue.line import Line
from engine.scheduling.queue.sorted_requests import SortedRequests, by_arrival

DEFAULT_WEIGHT = 1.0
MOST_OVER_FULL = 2


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

    Who comes back, loaded or preempted, goes before all who have not begun: fairness decides who begins.
    """

    def __init__(self, max_waiting: int, max_wait: float, weights: Mapping[str, float]) -> None:
        self._max_waiting = max_waiting
        self._max_wait = max_wait
        self._weights = weights
        self._returned = SortedRequests(by_arrival)
        self._lines: dict[str, _TenantLine] = {}
        self._served: dict[str, float] = {}
        self._last_left: str | None = None
        self._overdue_had_turn = False
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def accepts(self, tenant: str) -> bool:
        """Within its share of the queue. Who is within it is let in although others filled the queue before it came."""
        mine = self._lines.get(tenant)
        active = sum(self._weight(name) for name in self._lines) + (self._weight(tenant) if mine is None else 0.0)
        share = share_of_queue(self._max_waiting, self._weight(tenant), active)
        waiting = len(mine.line) if mine is not None else 0
        return waiting < share and self._length < MOST_OVER_FULL * self._max_waiting

    def add(self, request: Request) -> None:
        """In its tenant's line."""
        tenant = request.tenant
        mine = self._lines.get(tenant)
        if mine is None:
            self._served[tenant] = max(self._served.get(tenant, 0.0), self._least_served())
            mine = self._lines[tenant] = _TenantLine(tenant, Line(self._max_wait), request.wait_began)
        mine.line.add(request)
        self._length += 1

    def requeue(self, request: Request) -> None:
        """Before all who have not begun."""
        self._returned.add(request)
        self._length += 1

    def peek(self, now: float) -> Request | None:
        """The oldest that came back, or the next of the tenant whose turn it is."""
        if self._returned.first is not None:
            return self._returned.first
        if not self._lines:
            return None
        mine = self._next_overdue(now) or min(self._lines.values(), key=lambda mine: self._served[mine.tenant])
        return mine.line.peek(now)

    def start(self, request: Request, now: float) -> None:
        """It leaves, and its tenant had a turn, unless it comes back only."""
        self._length -= 1
        if request in self._returned:
            self._returned.remove(request)
            return
        mine = self._lines[request.tenant]
        self._overdue_had_turn = mine is self._next_overdue(now)
        mine.since = now
        mine.line.start(request, now)
        self._close_if_empty(mine)

    def remove(self, request: Request) -> None:
        """It leaves."""
        self._length -= 1
        if request in self._returned:
            self._returned.remove(request)
            return
        mine = self._lines[request.tenant]
        mine.line.remove(request)
        self._close_if_empty(mine)

    def charge(self, request: Request, num_tokens: int) -> None:
        """On its tenant's account; computed again after a preemption counts again."""
        self._served[request.tenant] += num_tokens / self._weight(request.tenant)

    def level(self, request: Request) -> float:  # noqa: ARG002
        """All are equal: a priority is a word between a tenant's own requests, not against others'."""
        return 0.0

    def _least_served(self) -> float:
        """Of those who wait; when nobody does, of the last who did, who may be served still."""
        names = self._lines or ([self._last_left] if self._last_left is not None else [])
        return min((self._served[name] for name in names), default=0.0)

    def _close_if_empty(self, mine: _TenantLine) -> None:
        if not mine.line:
            del self._lines[mine.tenant]
            self._last_left = mine.tenant

    def _weight(self, tenant: str) -> float:
        return self._weights.get(tenant, DEFAULT_WEIGHT)

    def _next_overdue(self, now: float) -> _TenantLine | None:
        longest = min(self._lines.values(), key=lambda mine: mine.since)
        return None if self._overdue_had_turn or now - longest.since <= self._max_wait else longest


def share_of_queue(max_waiting: int, weight: float, active_weight: float) -> int:
    """Places for a tenant of `weight`, when those who wait, it included, weigh `active_weight`; at least one."""
    return max(1, ceil(max_waiting * weight / active_weight))
