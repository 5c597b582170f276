"""Recently active tenants. While there are several, a step leaves room for requests that another one may send."""

from collections import OrderedDict


class RecentTenants:
    """Tenants that sent a request within the last `seconds`."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._asked: OrderedDict[str, float] = OrderedDict()

    def note(self, tenant: str, now: float) -> None:
        """Record a request of `tenant` at `now`, and forget tenants that are no longer recent."""
        self._asked[tenant] = now
        self._asked.move_to_end(tenant)
        self._forget(now)

    def are_several(self, now: float) -> bool:
        """Return whether more than one tenant sent a request recently."""
        self._forget(now)
        return len(self._asked) > 1

    def _forget(self, now: float) -> None:
        while self._asked and next(iter(self._asked.values())) < now - self._seconds:
            self._asked.popitem(last=False)
