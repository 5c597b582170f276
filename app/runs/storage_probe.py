"""A small write, repeated while the database refuses writes, so that its recovery is noticed without traffic."""

import asyncio
import logging
from contextlib import suppress

from app.storage.database import Database
from engine.api.errors import OutageError

PROBE_SECONDS = 1.0

logger = logging.getLogger(__name__)


class StorageProbe:
    """Owner of the task that looks at the health of a database and writes to one that is failing."""

    def __init__(self, database: Database, *, seconds: float = PROBE_SECONDS) -> None:
        self._database = database
        self._seconds = seconds
        self._task: asyncio.Task[None] | None = None
        self.lost = asyncio.Event()
        """Set once this server can use the database no more."""

    def begin(self) -> None:
        """Look from now on, until `stop`."""
        self._task = asyncio.create_task(self._look(), name="storage-probe")

    async def stop(self) -> None:
        """End the task."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(self._seconds)
            if (reason := self._database.health.reason) is None:
                continue
            logger.error("nothing can be stored: %s", reason)
            if self._database.health.is_lost:
                self.lost.set()
                return
            try:
                await self._database.probe()
            except OutageError:
                continue
            except Exception:
                logger.exception("the database could not be probed")
            else:
                logger.info("the database accepts writes again")
