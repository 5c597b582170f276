"""Tenants' use of their limits, carried over a restart and shared with other servers.

New use is added to the stored debts every few seconds. Where there are other servers, their use comes back with it, so
all of them together keep a tenant to its limits, except for the use of the last SHARE_SECONDS.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from app.access.doubtful_additions import DoubtfulAdditions
from app.domain.storage_health import CommitUnknownError
from app.storage.owed_use import OwedUseStore
from app.tenants.gate import TenantGates

SAVE_SECONDS: Final = 2.0
"""Use within this time before a crash is forgotten."""
SHARE_SECONDS: Final = 1.0
"""The same where there are other servers."""

logger = logging.getLogger(__name__)


class RateLimitSync:
    """Owner of the task that stores what tenants owe."""

    def __init__(self, gates: TenantGates, store: OwedUseStore, is_alone: Callable[[], bool] = lambda: True) -> None:
        """Prepare to store the debts.

        is_alone: whether no other server uses the database.
        """
        self._gates = gates
        self._store = store
        self._is_alone = is_alone
        self._doubts = DoubtfulAdditions(gates.give_back)
        self._saving: asyncio.Task[None] | None = None
        self._is_failing = False

    def begin(self) -> None:
        """Start to store the debts regularly."""
        self._saving = asyncio.create_task(self._save_often(), name="save-owed-use")

    async def stop(self) -> None:
        """Store the debts for the last time."""
        if self._saving is not None:
            self._saving.cancel()
            with suppress(asyncio.CancelledError):
                await self._saving
        await self.save()

    async def save(self) -> None:
        """Add what was used since the last call to the stored debts, and learn the use at other servers."""
        self._doubts.settle()
        added = self._gates.take_added()
        if not added and self._is_alone():
            return
        try:
            owed = await (self._store.add(added) if added else self._store.all())
        except Exception as error:
            if isinstance(error, CommitUnknownError):
                self._doubts.keep(added, error)
            else:
                self._gates.give_back(added)
            # A full disk: the limits hold until the restart in any case.
            if not self._is_failing:
                logger.warning("the use that counts against tenants' limits cannot be stored: %s", error)
            self._is_failing = True
        else:
            self._gates.settle(owed)
            self._is_failing = False

    async def _save_often(self) -> None:
        while True:
            await asyncio.sleep(SAVE_SECONDS if self._is_alone() else SHARE_SECONDS)
            await self.save()
