"""Share of the batch and of the device blocks that each tenant holds, and the preemption rules that follow from it.

The measure is the dominant share of Ghodsi et al., "Dominant Resource Fairness" (NSDI 2011): the larger of the tenant's
fraction of the places in the batch and its fraction of the device blocks, divided by its weight. A request ranks behind
the share that older running requests of its tenant hold. The oldest running request of each tenant therefore ranks at
0. A tenant with many or large requests delays its own requests, not those of other tenants. With a single tenant,
requests rank by arrival.
"""

from collections.abc import Iterable

from engine.request.request import Request
from engine.scheduling.queue.request_queue import RequestQueue

Precedence = tuple[float, float, int]
"""Queue level of a request, share that its tenant holds ahead of it, and arrival number across all tenants."""


class Shares:
    """Snapshot of the shares. Create a new one after a request has started, been preempted or ended."""

    def __init__(
        self,
        running: Iterable[Request],
        others: Iterable[Request],
        queue: RequestQueue,
        *,
        num_places: int,
        num_blocks: int,
    ) -> None:
        """Compute the shares.

        running: the requests of the batch.
        others: requests that are not running but hold blocks, or a place in the batch while their blocks load.
        num_places: number of places in the batch.
        num_blocks: number of device blocks.
        """
        self._queue = queue
        self._places = num_places
        self._blocks = num_blocks
        self._held: dict[str, tuple[int, int]] = {}
        self._ahead: dict[str, float] = {}
        self._others: set[str] = set()
        for request in sorted(running, key=lambda request: request.order):
            self._ahead[request.request_id] = self._share(queue.tenant_of(request), *self._held_with(request))
            self._hold(request)
        for request in others:
            self._others.add(request.request_id)
            self._hold(request)

    def precedence(self, request: Request) -> Precedence:
        """Return the precedence of a request, for a waiting one as if it started now."""
        ahead = self._ahead.get(request.request_id)
        if ahead is None:
            ahead = self._share(self._queue.tenant_of(request), *self._held_with(request))
        return (self._queue.level(request), ahead, request.order)

    def of_tenant(self, request: Request) -> float:
        """Return the dominant share that the tenant of `request` holds."""
        tenant = self._queue.tenant_of(request)
        return self._share(tenant, *self._held.get(tenant, (0, 0)))

    def may_begin_before(self, request: Request, num_blocks: int, other: Request) -> bool:
        """Return whether `request`, which waits and needs `num_blocks`, may preempt the running request `other`.

        Requests of the same tenant and the oldest running request of a tenant are never preempted. A tenant without a
        place may preempt if its fair share comes to at least one place. Any request may preempt if afterwards its
        tenant holds no more than the share ahead of `other`. The preempted request then has no claim to preempt its
        successor, so the two cannot preempt each other back and forth.
        """
        tenant, theirs = self._queue.tenant_of(request), self._ahead[other.request_id]
        if tenant == self._queue.tenant_of(other) or not theirs:
            return False
        places, blocks = self._held_with(request)
        is_due = not places and self._fair_places(tenant) >= 1
        return is_due or self._share(tenant, places + 1, blocks + num_blocks) <= theirs

    def _fair_places(self, tenant: str) -> float:
        """Return the tenant's fair number of places, divided by weight among it and the current holders."""
        weight_of = self._queue.weight_of
        return self._places * weight_of(tenant) / sum(weight_of(name) for name in {tenant, *self._held})

    def _hold(self, request: Request) -> None:
        tenant = self._queue.tenant_of(request)
        places, blocks = self._held.get(tenant, (0, 0))
        self._held[tenant] = (places + 1, blocks + len(request.blocks))

    def _held_with(self, request: Request) -> tuple[int, int]:
        """Return the places and blocks that the tenant of `request`, which is not running, holds without it."""
        places, blocks = self._held.get(self._queue.tenant_of(request), (0, 0))
        if request.request_id in self._others:
            return places - 1, blocks - len(request.blocks)
        return places, blocks

    def _share(self, tenant: str, places: int, blocks: int) -> float:
        return max(places / self._places, blocks / self._blocks) / self._queue.weight_of(tenant)
