"""Tenants that asked for something recently: whether a step has to leave room for another one to come."""

from collections import OrderedDict


class RecentTenants:
    """The time of the last request of each tenant, for `seconds`."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._asked: OrderedDict[str, float] = OrderedDict()

    def note(self, tenant: str, now: float) -> None:
        """Note a request of `tenant`, and forget the tenants that have not asked for so long."""
        self._asked[tenant] = now
        self._asked.move_to_end(tenant)
        self._forget(now)

    def are_several(self, now: float) -> bool:
        """Tell whether more than one tenant asked recently."""
        self._forget(now)
        return len(self._asked) > 1

    def _forget(self, now: float) -> None:
        while self._asked and next(iter(self._asked.values())) < now - self._seconds:
            self._asked.popitem(last=False)
