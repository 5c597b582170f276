"""Daily use of the tenants, for administrators: counted at the gates, and stored every minute."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Final

from app.access.doubtful_additions import DoubtfulAdditions
from app.domain.bounds import MAX_USE_DAYS
from app.domain.storage_health import CommitUnknownError
from app.storage.daily_use import DailyUseStore
from app.tenants.gate import TenantGates
from app.tenants.token_bucket import Use

SAVE_SECONDS: Final = 60.0
"""Use within this time before a crash is not counted."""

logger = logging.getLogger(__name__)


class DailyUse:
    """Owner of the task that stores the use."""

    def __init__(self, gates: TenantGates, store: DailyUseStore) -> None:
        self._gates = gates
        self._store = store
        self._lock = asyncio.Lock()
        self._unsaved: defaultdict[tuple[str, str], Use] = defaultdict(Use)
        self._doubts = DoubtfulAdditions(self._give_back)
        self._saving: asyncio.Task[None] | None = None
        self._is_failing = False

    def begin(self) -> None:
        """Start to store the use regularly."""
        self._saving = asyncio.create_task(self._save_often(), name="save-daily-use")

    async def stop(self) -> None:
        """Store the use for the last time."""
        if self._saving is not None:
            # Cancelling a write would leave open whether the use is stored.
            async with self._lock:
                self._saving.cancel()
                with suppress(asyncio.CancelledError):
                    await self._saving
        await self.save()

    async def save(self) -> None:
        """Store the use since the last call."""
        async with self._lock:
            self._collect()
            if not self._unsaved:
                return
            try:
                await self._store.add(self._unsaved, oldest=first_day(MAX_USE_DAYS))
            except Exception as error:
                if isinstance(error, CommitUnknownError):
                    self._doubts.keep(dict(self._unsaved), error)
                    self._unsaved.clear()
                # A full disk: the use is stored once there is room.
                if not self._is_failing:
                    logger.warning("the tenants' use of today cannot be stored yet: %s", error)
                self._is_failing = True
            else:
                self._unsaved.clear()
                self._is_failing = False

    def unsaved(self, since: str) -> dict[str, Use]:
        """Return the use of each tenant since a day that could not be stored yet."""
        total = defaultdict[str, Use](Use)
        for (tenant, day), use in self._unsaved.items():
            if day >= since:
                total[tenant] += use
        return total

    async def forget(self, tenant: str) -> None:
        """Delete the use of a tenant."""
        async with self._lock:
            self._collect()
            for key in [key for key in self._unsaved if key[0] == tenant]:
                del self._unsaved[key]
            await self._store.forget(tenant)

    def _give_back(self, unsaved: Mapping[tuple[str, str], Use]) -> None:
        for key, use in unsaved.items():
            self._unsaved[key] += use

    def _collect(self) -> None:
        self._doubts.settle()
        today = first_day(1)
        for tenant, use in self._gates.take_used().items():
            self._unsaved[tenant, today] += use

    async def _save_often(self) -> None:
        while True:
            await asyncio.sleep(SAVE_SECONDS)
            await self.save()


def first_day(num_days: int) -> str:
    """Return the first of the last `num_days` days in UTC, today included."""
    return (datetime.now(UTC) - timedelta(days=num_days - 1)).date().isoformat()
