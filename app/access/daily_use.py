"""Daily use of the tenants, for administrators: counted at the gates, and stored every minute."""

from collections import defaultdict
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from app.access.regular_additions import RegularAdditions
from app.domain.bounds import MAX_USE_DAYS
from app.storage.daily_use import DailyUseStore
from app.tenants.gate import TenantGates
from app.tenants.token_bucket import Use

SAVE_SECONDS: Final = 60.0

TenantDay = tuple[str, str]
"""A tenant and a date in UTC, such as 2026-11-23."""


class DailyUse(RegularAdditions[TenantDay, Use]):
    """Use of the tenants by day."""

    NAME = "the tenants' use of today"

    def __init__(self, gates: TenantGates, store: DailyUseStore) -> None:
        super().__init__()
        self._gates = gates
        self._store = store
        self._unsaved: defaultdict[TenantDay, Use] = defaultdict(Use)

    def unsaved(self, since: str) -> dict[str, Use]:
        """Return the use of each tenant since a day that could not be stored yet."""
        total = defaultdict[str, Use](Use)
        for (tenant, day), use in self._unsaved.items():
            if day >= since:
                total[tenant] += use
        return total

    async def forget(self, tenant: str) -> None:
        """Delete the use of a tenant."""
        async with self.lock:
            self.settle_doubts()
            self.give_back({key: use for key, use in self.take().items() if key[0] != tenant})
            await self._store.forget(tenant)

    def seconds(self) -> float:
        """Return the time between two additions."""
        return SAVE_SECONDS

    def take(self) -> Mapping[TenantDay, Use]:
        """Return the use that is not stored."""
        today = first_day(1)
        for tenant, use in self._gates.take_used().items():
            self._unsaved[tenant, today] += use
        taken, self._unsaved = self._unsaved, defaultdict(Use)
        return taken

    def give_back(self, counted: Mapping[TenantDay, Use]) -> None:
        """Keep use that was not stored."""
        for key, use in counted.items():
            self._unsaved[key] += use

    async def add(self, counted: Mapping[TenantDay, Use]) -> None:
        """Store use, if there is any."""
        if counted:
            await self._store.add(counted, oldest=first_day(MAX_USE_DAYS))


def first_day(num_days: int) -> str:
    """Return the first of the last `num_days` days in UTC, today included."""
    return (datetime.now(UTC) - timedelta(days=num_days - 1)).date().isoformat()
