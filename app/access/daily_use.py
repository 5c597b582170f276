"""Daily use of the tenants, for administrators: counted at the gates, and stored every minute."""

import asyncio
import logging
import time
from collections import defaultdict
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

from app.domain.bounds import MAX_USE_DAYS
from app.storage.daily_use import DailyUseStore
from app.tenants.gate import TenantGates
from app.tenants.use import Use

SAVE_SECONDS: Final = 60.0
"""Use within this time before a crash is not counted."""

DAY_SECONDS: Final = 86_400.0

logger = logging.getLogger(__name__)


class DailyUse:
    """Owner of the task that stores the use."""

    def __init__(self, gates: TenantGates, store: DailyUseStore) -> None:
        self._gates = gates
        self._store = store
        self._unsaved: defaultdict[tuple[str, str], Use] = defaultdict(Use)
        self._saving: asyncio.Task[None] | None = None
        self._is_failing = False

    def begin(self) -> None:
        """Start to store the use regularly."""
        self._saving = asyncio.create_task(self._save_often(), name="save-daily-use")

    async def stop(self) -> None:
        """Store the use for the last time."""
        if self._saving is not None:
            self._saving.cancel()
            with suppress(asyncio.CancelledError):
                await self._saving
        await self.save()

    async def save(self) -> None:
        """Store the use since the last call."""
        self._collect()
        if not self._unsaved:
            return
        added, self._unsaved = self._unsaved, defaultdict(Use)
        try:
            await self._store.add(added, oldest=_day(MAX_USE_DAYS))
        except Exception as error:
            # A full disk: the use is stored once there is room.
            for key, use in added.items():
                self._unsaved[key] += use
            if not self._is_failing:
                logger.warning("the tenants' use of today cannot be stored yet: %s", error)
            self._is_failing = True
        else:
            self._is_failing = False

    async def of_last(self, num_days: int) -> dict[str, Use]:
        """Sum up the use of each tenant in the last days, today included. Other servers' last minute is missing."""
        self._collect()
        # Taken before the read: use that is stored during it is counted once.
        first, unsaved = _day(num_days), dict(self._unsaved)
        total = defaultdict(Use, await self._store.since(first))
        for (tenant, day), use in unsaved.items():
            if day >= first:
                total[tenant] += use
        return dict(total)

    def _collect(self) -> None:
        today = _day(1)
        for tenant, use in self._gates.take_used().items():
            self._unsaved[tenant, today] += use

    async def _save_often(self) -> None:
        while True:
            await asyncio.sleep(SAVE_SECONDS)
            await self.save()


def _day(num_days: int) -> str:
    """Return the first of the last `num_days` days in UTC, today included."""
    return datetime.fromtimestamp(time.time() - (num_days - 1) * DAY_SECONDS, UTC).date().isoformat()
