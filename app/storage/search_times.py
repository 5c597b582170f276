"""Bounds of the times of messages, by blocks of numbers of the search index.

The numbers follow the order in which messages were stored, which is nearly that of their times. So a search in a period
leaves out the blocks whose messages are all of another time. The bounds of a block are noted once no message can get a
number in it. A block without bounds may hold messages of any time.
"""

from collections.abc import Iterator
from functools import partial
from typing import Final

from app.storage.connection import DatabaseConnection
from app.storage.database import Database
from app.storage.search_filter import SearchFilter

BLOCK: Final = 1024
"""Numbers in a block. A trigger of SQLite has the same number."""
BRIDGED: Final = 16
"""Minimum number of blocks in a row that are left out. A search starts again after each gap, and the blocks of a small
one cost less.
"""

_MISSING: Final = """
    WITH RECURSIVE block(n) AS (
      SELECT max(number) / :size - 1 FROM searchable UNION ALL SELECT n - 1 FROM block WHERE n > 0)
    SELECT n FROM block WHERE n >= 0 AND NOT EXISTS (SELECT 1 FROM search_times WHERE search_times.block = n) LIMIT 1
"""
_NOTE: Final = """
    INSERT INTO search_times(block, earliest, latest)
    SELECT CAST(? AS bigint), coalesce(min(created_at), 0), coalesce(max(created_at), 0)
    FROM searchable JOIN message ON message.id = message_id WHERE number >= ? AND number < ?
    ON CONFLICT DO NOTHING
"""
_LEFT_OUT: Final = "SELECT block FROM search_times WHERE latest < ? OR earliest >= ? ORDER BY block DESC"


async def note_times(database: Database) -> bool:
    """Note the bounds of the newest block that has none, and return whether there was one."""
    rows = await database.read(_MISSING, {"size": BLOCK})
    for row in rows:
        await database.write_batch(partial(_note, block=row["n"]))
    return bool(rows)


def _note(connection: DatabaseConnection, block: int) -> None:
    connection.execute(_NOTE, (block, block * BLOCK, (block + 1) * BLOCK))


def ranges_in_time(connection: DatabaseConnection, within: SearchFilter, before: int) -> Iterator[range]:
    """Yield the numbers below `before` that messages of the filter's period may have, the greatest first."""
    if within.since is not None or within.until is not None:
        since = within.since if within.since is not None else -float("inf")
        until = within.until if within.until is not None else float("inf")
        for gap in _gaps(row["block"] for row in connection.fetch_all(_LEFT_OUT, (since, until))):
            if gap.stop < before:
                yield range(gap.stop, before)
            before = min(before, gap.start)
    if before > 0:
        yield range(before)


def _gaps(blocks: Iterator[int]) -> Iterator[range]:
    """Yield the numbers of runs of at least BRIDGED blocks.

    blocks: in descending order.
    """
    low = high = -1
    for block in blocks:
        if block != low - 1:
            if high - low >= BRIDGED:
                yield range(low * BLOCK, high * BLOCK)
            high = block + 1
        low = block
    if high - low >= BRIDGED:
        yield range(low * BLOCK, high * BLOCK)
