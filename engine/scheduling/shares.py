"""The part of the batch and of the blocks that each tenant holds, and whose request may take from whom.

The measure is the dominant share of Ghodsi et al., "Dominant Resource Fairness" (NSDI 2011): of the places in the batch
and of the device blocks, whichever of the two fractions is larger, over the tenant's weight. A request stands behind
what its tenant's older running requests hold. So the oldest of each tenant that runs stands at 0, and a tenant with
many requests, or large ones, stands behind itself and not in front of others. With one tenant the order is that of
arrival.
"""

from collections.abc import Iterable

from engine.request import Request
from engine.scheduling.queue.request_queue import RequestQueue

Rank = tuple[float, float, int]
"""The level that the queue gives a request, the share that its tenant holds ahead of it, its number among arrivals."""


class Shares:
    """The holders of one moment: make a new one when a request has begun, stopped or ended."""

    def __init__(
        self,
        running: Iterable[Request],
        others: Iterable[Request],
        queue: RequestQueue,
        *,
        num_places: int,
        num_blocks: int,
    ) -> None:
        """others: requests that do not run, but hold blocks, or a place that waits for their load."""
        self._queue = queue
        self._places = num_places
        self._blocks = num_blocks
        self._held: dict[str, tuple[int, int]] = {}
        self._ahead: dict[str, float] = {}
        self._others: set[str] = set()
        for request in sorted(running, key=lambda request: request.order):
            self._ahead[request.request_id] = self._share(queue.tenant_of(request), *self._held_beside(request))
            self._hold(request)
        for request in others:
            self._others.add(request.request_id)
            self._hold(request)

    def rank(self, request: Request) -> Rank:
        """Return the rank of a running request, or the one that another would have if it began now."""
        ahead = self._ahead.get(request.request_id)
        if ahead is None:
            ahead = self._share(self._queue.tenant_of(request), *self._held_beside(request))
        return (self._queue.level(request), ahead, request.order)

    def of_tenant(self, request: Request) -> float:
        """Return the share of all that the tenant of `request` holds."""
        tenant = self._queue.tenant_of(request)
        return self._share(tenant, *self._held.get(tenant, (0, 0)))

    def may_begin_before(self, request: Request, num_blocks: int, other: Request) -> bool:
        """Tell whether `request`, which waits and needs `num_blocks`, may stop `other`, of another tenant.

        Never a tenant's oldest. The first request of a tenant may stop any other if the tenant's share comes to a place
        in the batch; each may if afterwards its tenant holds no more than what stands ahead of `other`. So the one that
        was stopped has no claim to stop the one that took its place, and the two do not take turns at it.
        """
        tenant, theirs = self._queue.tenant_of(request), self._ahead[other.request_id]
        if tenant == self._queue.tenant_of(other) or not theirs:
            return False
        places, blocks = self._held_beside(request)
        is_due = not places and self._fair_places(tenant) >= 1
        return is_due or self._share(tenant, places + 1, blocks + num_blocks) <= theirs

    def _fair_places(self, tenant: str) -> float:
        """Return the places that are the tenant's by weight, if it and all tenants that hold anything want theirs."""
        weight_of = self._queue.weight_of
        return self._places * weight_of(tenant) / sum(weight_of(name) for name in {tenant, *self._held})

    def _hold(self, request: Request) -> None:
        tenant = self._queue.tenant_of(request)
        places, blocks = self._held.get(tenant, (0, 0))
        self._held[tenant] = (places + 1, blocks + len(request.blocks))

    def _held_beside(self, request: Request) -> tuple[int, int]:
        """Return the places and blocks that its tenant holds without `request`, which does not run."""
        places, blocks = self._held.get(self._queue.tenant_of(request), (0, 0))
        if request.request_id in self._others:
            return places - 1, blocks - len(request.blocks)
        return places, blocks

    def _share(self, tenant: str, places: int, blocks: int) -> float:
        return max(places / self._places, blocks / self._blocks) / self._queue.weight_of(tenant)
