"""Requests in progress: their number for each tenant, and the end of those whose access has ended."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from starlette.types import Receive

from app.access.key_ring import FRESH_SECONDS, KeyRing
from app.http.request_access import RequestAccess
from app.tenants.limits import LimitReachedError, TenantLimits
from app.transport.connections import Connections
from engine.api.errors import EbbError

RETRY_SECONDS: Final = 2
"""Seconds after which one of a tenant's requests has probably been answered."""


class OpenRequests:
    """Number of open requests by tenant.

    A tenant's configured limit always applies. A tenant without one may use the whole server while it is mostly free.
    Once more than half of the connections are busy, each such tenant is limited to a quarter of all connections.
    """

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


EXPIRY_SECONDS: Final = 20.0
"""Seconds within which a stream ends after its login has expired. All other changes take effect at once."""

SLICE: Final = 500
"""Accesses that are looked at in one turn of the event loop."""


class AccessWatch:
    """Owner of the accesses of requests in progress. While there are any, the keys are read every second."""

    def __init__(self, ring: KeyRing) -> None:
        self._ring = ring
        self._open: dict[RequestAccess, Callable[[], EbbError | None]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._checked_at = 0.0
        self._unchecked: list[RequestAccess] = []
        self._is_due = False
        ring.follow(self.check)

    @contextmanager
    def watched(self, receive: Receive, refusal: Callable[[], EbbError | None]) -> Iterator[RequestAccess]:
        """Watch the access of a request for the duration of the context.

        refusal: the error that a request like it would get now; None if it would be answered.
        """
        access = RequestAccess(receive)
        self._open[access] = refusal
        if self._timer is None:
            self._begin()
        try:
            yield access
        finally:
            del self._open[access]

    def check(self) -> None:
        """End the accesses that the keys and logins read last no longer give, if there are many in several turns."""
        self._is_due = True
        if not self._unchecked:
            self._check_some()

    def _check_some(self) -> None:
        if not self._unchecked:
            self._unchecked, self._is_due = list(self._open), False
        some = self._unchecked[-SLICE:]
        del self._unchecked[-SLICE:]
        for access in some:
            refusal_of = self._open.get(access)
            if refusal_of is not None and access.refusal is None and (refusal := refusal_of()) is not None:
                access.end(refusal)
        # A change during a pass concerns the accesses that the pass has already looked at, too.
        if self._unchecked or self._is_due:
            asyncio.get_running_loop().call_soon(self._check_some)

    def _begin(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(FRESH_SECONDS, self._look)

    def _look(self) -> None:
        self._timer = None
        if not self._open:
            return
        self._begin()
        self._ring.begin_refresh()
        now = asyncio.get_running_loop().time()
        if now - self._checked_at >= EXPIRY_SECONDS:
            self._checked_at = now
            self.check()
