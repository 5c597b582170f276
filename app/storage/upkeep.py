"""Work on the file that no request waits for: done in batches, each a short transaction, while the server serves.

- `index`: messages that were there before schema 12 enter the search index, the newest first.
- `count`: conversations that were there before schema 16 enter the number of bytes that their tenant stores.
- `purge`: words of removed messages leave the search index. FTS5 marks them as deleted, and drops them only when it
  merges the parts of the index that hold them. The free pages are zeros already (`secure_delete`).

The table `upkeep` holds what is left to do, so a stopped server continues after its start.
"""

import asyncio
import logging
import sqlite3
import time
from dataclasses import dataclass

from app.storage.database import Database
from engine.errors import OutageError

BATCH_MESSAGES = 200
BATCH_CONVERSATIONS = 20
BATCH_CHARACTERS = 262_144
"""Text of one batch; at least one message."""
MERGE_PAGES = 64
"""Pages of the index that one step of a merge writes."""

PURGE_SHARE = 0.05
"""Part of the time in which the whole index is merged."""
LOOK_SECONDS = 15.0
LOG_SECONDS = 10.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class IndexProgress:
    """Rows of the search index that are still to be made. None of them is found by a search until then."""

    left: int


class Upkeep:
    """Owner of the task that does what is left to do.

    unindexed: messages and titles that no search finds yet, as of the last look.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._task: asyncio.Task[None] | None = None
        self._purge_after = 0.0
        self.unindexed = 0

    def begin(self) -> None:
        """Start looking for work."""
        self._task = asyncio.create_task(self._keep_up(), name="database-upkeep")

    async def stop(self) -> None:
        """End after the batch that is being written."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def progress(self) -> IndexProgress:
        """Count what the search does not find yet."""
        sql = "SELECT count(*) AS rows FROM searchable WHERE number < (SELECT below FROM upkeep WHERE task = 'index')"
        [row] = await self._database.read(sql)
        return IndexProgress(row["rows"])

    async def index_all(self) -> None:
        """Index all that is left, without pauses."""
        while await self.index_some():
            pass

    async def index_some(self) -> bool:
        """Index a batch of the newest messages and titles that are left; returns whether there were any."""
        return await self._database.write_batch(_index_some)

    async def count_some(self) -> bool:
        """Count the bytes of a batch of conversations; returns whether there were any left."""
        return await self._database.write_batch(_count_some)

    async def purge(self) -> bool:
        """Drop the words of removed messages from the file; returns whether there were any.

        The parts of the index are merged into one, in steps between which other writers have their turn. The log of
        the file, which holds earlier states of its pages, is emptied in the end.
        """
        if not await self._database.write(_begin_purge, durable=False):
            return False
        while await self._database.write_batch(_merge_some):
            pass
        await self._database.apart(lambda connection: connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall())
        return True

    async def _keep_up(self) -> None:
        while True:
            try:
                while await self.count_some():
                    pass
                await self._index_all()
                if time.monotonic() >= self._purge_after:
                    began = time.monotonic()
                    await self.purge()
                    now = time.monotonic()
                    self._purge_after = now + (now - began) / PURGE_SHARE
            except OutageError as error:
                logger.warning("the upkeep of the database waits: %s", error)
            except Exception:
                logger.exception("the upkeep of the database failed; it is tried again in %g s", LOOK_SECONDS)
            await asyncio.sleep(LOOK_SECONDS)

    async def _index_all(self) -> None:
        """Index all that is left, and say how much that is."""
        told = 0.0
        self.unindexed = (await self.progress()).left
        while await self.index_some():
            if (now := time.monotonic()) - told >= LOG_SECONDS:
                told = now
                self.unindexed = (await self.progress()).left
                logger.info("search index: %d messages and titles are left to do", self.unindexed)
        self.unindexed = 0
        if told:
            logger.info("search index: done")


def _index_some(connection: sqlite3.Connection) -> bool:
    below = connection.execute("SELECT below FROM upkeep WHERE task = 'index'").fetchone()
    if below is None:
        return False
    sizes = connection.execute(
        "SELECT number, coalesce(min(length(content), 262144), 0) AS size FROM searchable "
        "LEFT JOIN message ON message.id = message_id WHERE number < ? ORDER BY number DESC LIMIT ?",
        (below[0], BATCH_MESSAGES),
    )
    least, characters = None, 0
    for number, size in sizes:
        characters += size
        if least is not None and characters > BATCH_CHARACTERS:
            break
        least = number
    if least is None:
        connection.execute("DELETE FROM upkeep WHERE task = 'index'")
        return False
    # Rows of rising numbers go into one part of the index; each step down would begin another one.
    connection.execute(
        "INSERT INTO search_text(rowid, tenant, title, content) "
        "SELECT number, 't' || hex(tenant), iif(message_id IS NULL, segmented(title), NULL), "
        "iif(message_id IS NULL, NULL, segmented(substr(message.content, 1, 262144))) FROM searchable "
        "JOIN conversation ON conversation.id = searchable.conversation_id "
        "LEFT JOIN message ON message.id = message_id "
        "WHERE number >= ? AND number < ? AND number NOT IN (SELECT rowid FROM search_text WHERE rowid >= ? "
        "AND rowid < ?) ORDER BY number",
        (least, below[0], least, below[0]),
    )
    connection.execute("UPDATE upkeep SET below = ? WHERE task = 'index'", (least,))
    return True


def _count_some(connection: sqlite3.Connection) -> bool:
    # A trigger counts a conversation that is marked.
    marked = connection.execute(
        "UPDATE conversation SET counted = 1 WHERE id IN (SELECT id FROM conversation WHERE NOT counted LIMIT ?)",
        (BATCH_CONVERSATIONS,),
    ).rowcount
    if not marked:
        connection.execute("DELETE FROM upkeep WHERE task = 'count'")
    return marked > 0


def _begin_purge(connection: sqlite3.Connection) -> bool:
    """Mark all parts of the index as to be merged; returns whether words have to leave it."""
    if not connection.execute("DELETE FROM upkeep WHERE task IN ('purge', 'merge')").rowcount:
        return False
    # A process that ends before the merge does leaves the rest of it to the next one.
    connection.execute("INSERT INTO upkeep(task) VALUES ('merge')")
    connection.execute("INSERT INTO search_text(search_text, rank) VALUES ('merge', ?)", (-MERGE_PAGES,))
    return True


def _merge_some(connection: sqlite3.Connection) -> bool:
    """Merge some pages; returns whether there is more. FTS5 changes one row, its own, where there is nothing left."""
    before = connection.total_changes
    connection.execute("INSERT INTO search_text(search_text, rank) VALUES ('merge', ?)", (MERGE_PAGES,))
    if connection.total_changes - before >= 2:
        return True
    connection.execute("DELETE FROM upkeep WHERE task = 'merge'")
    return False
