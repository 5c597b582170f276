"""Requests of each tenant that are being answered, streams that are followed among them.

A limit of the tenant's own always holds. Without one, a tenant may have all of the server while others leave it: only
when more than half of the connections are busy, none may have more than a quarter of them.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from app.connections import Connections
from app.tenant_limits import LimitReachedError, TenantLimits

RETRY_SECONDS: Final = 2
"""Time after which one of a tenant's requests may have been answered."""


class OpenRequests:
    """Owner of the counts."""

    def __init__(self, limits_of: Callable[[str], TenantLimits], connections: Connections) -> None:
        self._limits_of = limits_of
        self._connections = connections
        self._open: Counter[str] = Counter()

    def refusal(self, tenant: str, *, shares: bool) -> LimitReachedError | None:
        """Say why `tenant` may not ask now; None if it may. shares: the server has other tenants to leave room for."""
        most = self._limits_of(tenant).open_requests
        total = self._connections.limits.total
        if most is None and shares and self._connections.busy > total // 2:
            most = max(1, total // 4)
        if most is None or self._open[tenant] < most:
            return None
        return LimitReachedError(
            "open_requests",
            f"{most} requests of this tenant are being answered, which is all that it may have at a time. "
            f"Retry in {RETRY_SECONDS} s.",
            retry_after=RETRY_SECONDS,
        )

    @contextmanager
    def counted(self, tenant: str) -> Iterator[None]:
        """Count a request of `tenant` until the block ends."""
        self._open[tenant] += 1
        try:
            yield
        finally:
            self._open[tenant] -= 1
            if not self._open[tenant]:
                del self._open[tenant]
