"""Tenants' use of their limits, carried over a restart: debts are stored every few seconds while they change."""

import asyncio
import logging
from contextlib import suppress
from typing import Final

from app.storage.owed_use import OwedUseStore
from app.tenants.gate import TenantGates, Usage

SAVE_SECONDS: Final = 2.0
"""Use within this time before a crash is forgotten."""

logger = logging.getLogger(__name__)


class UseKeeper:
    """Owner of the task that stores what tenants owe."""

    def __init__(self, gates: TenantGates, store: OwedUseStore) -> None:
        self._gates = gates
        self._store = store
        self._saved_use = Usage()
        self._has_rows = True
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
        """Store what is owed now, unless nothing was used since it was stored."""
        used, owed = self._gates.used(), self._gates.owed()
        if used == self._saved_use or not (owed or self._has_rows):
            return
        try:
            await self._store.replace(owed)
        except Exception as error:
            # A full disk: the limits hold until the restart in any case.
            if not self._is_failing:
                logger.warning("the use that counts against tenants' limits cannot be stored: %s", error)
            self._is_failing = True
        else:
            self._saved_use, self._has_rows, self._is_failing = used, bool(owed), False

    async def _save_often(self) -> None:
        while True:
            await asyncio.sleep(SAVE_SECONDS)
            await self.save()
