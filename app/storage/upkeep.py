"""Background maintenance of the database file, in short transactions alongside requests.

- `index`: add messages from before schema 12 to the search index, the newest first.
- `count`: add conversations from before schema 16 to the number of bytes that their tenant stores.
- `purge`: drop the words of removed messages from the search index (`app.storage.text_index`).
- `times`: note the times of blocks of messages (`app.storage.search_times`). No row stands for it.
- the groups of accounts, after a group with many members was renamed (`app.storage.memberships`).
- `erase`: erase the earlier versions of rows after a purge, once no reader needs them.

The table `upkeep`, and the groups themselves, hold the remaining work, so a restarted server continues it.
"""

import asyncio
import logging
import time
from dataclasses import dataclass

from app.storage.connection import DatabaseConnection
from app.storage.database import Database
from app.storage.memberships import Memberships
from app.storage.search_times import note_times
from engine.api.errors import OutageError

BATCH_CONVERSATIONS = 20

PURGE_SHARE = 0.05
"""Maximum fraction of the time that is spent on purges."""
LOOK_SECONDS = 15.0
"""Seconds between two checks for work."""
LOG_SECONDS = 10.0
"""Minimum seconds between two progress lines in the log."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class IndexProgress:
    """Progress of the search index.

    left: number of messages and titles that are not indexed yet, and that no search finds.
    """

    left: int


class Upkeep:
    """Owner of the maintenance task.

    unindexed: number of messages and titles that were not indexed as of the last check.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._task: asyncio.Task[None] | None = None
        self._purge_after = 0.0
        self.unindexed = 0

    def begin(self) -> None:
        """Start the maintenance task."""
        self._task = asyncio.create_task(self._keep_up(), name="database-upkeep")

    async def stop(self) -> None:
        """Stop the task after the batch that is being written."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def progress(self) -> IndexProgress:
        """Count the messages and titles that are not indexed yet."""
        sql = "SELECT count(*) AS rows FROM searchable WHERE number < (SELECT below FROM upkeep WHERE task = 'index')"
        [row] = await self._database.read(sql)
        return IndexProgress(row["rows"])

    async def index_all(self) -> None:
        """Index all remaining messages and titles, and log the progress."""
        told = 0.0
        self.unindexed = (await self.progress()).left
        while await self.index_some():
            if (now := time.monotonic()) - told >= LOG_SECONDS:
                told = now
                self.unindexed = (await self.progress()).left
                logger.info("search index: %d messages and titles left to index", self.unindexed)
        self.unindexed = 0
        if told:
            logger.info("search index: done")

    async def index_some(self) -> bool:
        """Index a batch of the newest remaining messages and titles, and return whether there were any."""
        return await self._database.write_batch(self._database.text_index.index_some)

    async def count_some(self) -> bool:
        """Count the bytes of a batch of conversations, and return whether there were any left."""
        return await self._database.write_batch(_count_some)

    async def note_times(self) -> bool:
        """Note the times of a block of messages, and return whether there was one without."""
        return await note_times(self._database)

    async def renew_groups(self) -> None:
        """Have accounts follow the names of their groups, where a stopped server has left that."""
        await Memberships(self._database).renew_all()

    async def purge(self) -> bool:
        """Drop the words of removed messages from the database, and return whether there were any."""
        index = self._database.text_index
        if not await self._database.write(index.begin_purge, durable=False):
            return False
        while await self._database.write_batch(index.purge_some):
            pass
        return True

    async def erase_history(self) -> None:
        """Erase the earlier versions of rows if a purge is complete. While a reader needs them, the task stays."""
        if await self._database.read("SELECT task FROM upkeep WHERE task = 'erase'") and (
            await self._database.erase_history()
        ):
            await self._database.write(
                lambda connection: connection.execute("DELETE FROM upkeep WHERE task = 'erase'"), durable=False
            )

    async def _keep_up(self) -> None:
        while True:
            try:
                while await self.count_some():
                    pass
                await self.renew_groups()
                await self.index_all()
                while await self.note_times():
                    pass
                if time.monotonic() >= self._purge_after:
                    began = time.monotonic()
                    await self.purge()
                    now = time.monotonic()
                    self._purge_after = now + (now - began) / PURGE_SHARE
                await self.erase_history()
            except OutageError as error:
                logger.warning("maintenance of the database is delayed: %s", error)
            except Exception:
                logger.exception("maintenance of the database failed; the next attempt is in %g s", LOOK_SECONDS)
            await asyncio.sleep(LOOK_SECONDS)


def _count_some(connection: DatabaseConnection) -> bool:
    # A trigger counts the bytes of a conversation when `counted` is set.
    marked = connection.execute(
        "UPDATE conversation SET counted = TRUE WHERE id IN (SELECT id FROM conversation WHERE NOT counted LIMIT ?)",
        (BATCH_CONVERSATIONS,),
    )
    if not marked:
        connection.execute("DELETE FROM upkeep WHERE task = 'count'")
    return marked > 0
