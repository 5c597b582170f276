"""Limit on the requests of each tenant that are in progress, including followed streams.

A tenant's configured limit always applies. A tenant without one may use the whole server while it is mostly free. Once
more than half of the connections are busy, each such tenant is limited to a quarter of all connections.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from app.tenants.limits import LimitReachedError, TenantLimits
from app.transport.connections import Connections

RETRY_SECONDS: Final = 2
"""Seconds after which one of a tenant's requests has probably been answered."""


class OpenRequests:
    """Number of open requests by tenant."""

    def __init__(self, limits_of: Callable[[str], TenantLimits], connections: Connections) -> None:
        self._limits_of = limits_of
        self._connections = connections
        self._open: Counter[str] = Counter()

    def refusal(self, tenant: str, *, shares: bool) -> LimitReachedError | None:
        """Return the error to refuse a request of `tenant` with; None if the request may proceed.

        shares: whether the tenant shares the server with others, for which it must leave room.
        """
        most = self._limits_of(tenant).open_requests
        total = self._connections.limits.total
        if most is None and shares and self._connections.busy > total // 2:
            most = max(1, total // 4)
        if most is None or self._open[tenant] < most:
            return None
        return LimitReachedError(
            "open_requests",
            f"Request limit reached: this tenant may have {most} requests in progress at once. Retry in "
            f"{RETRY_SECONDS} s.",
            retry_after=RETRY_SECONDS,
        )

    @contextmanager
    def counted(self, tenant: str) -> Iterator[None]:
        """Count a request of `tenant` for the duration of the context."""
        self._open[tenant] += 1
        try:
            yield
        finally:
            self._open[tenant] -= 1
            if not self._open[tenant]:
                del self._open[tenant]
