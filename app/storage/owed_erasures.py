"""Erasures of KV that are still owed, by the keys of the blocks.

A row is written before the messages leave whose KV it names, and goes once every tier of its server has erased the
blocks. A key is a hash, and says nothing about the text. Each server owes the erasures from its own tiers. The
erasures of a server that ended are owed by the one that replaces it. Another server tries them once from its tiers too,
since servers may share a Redis.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from app.storage.connection import DatabaseConnection, Row
from app.storage.database import Database
from app.storage.servers import LIVE
from cache_tiers.owners.block_key import KEY_BYTES, BlockKey

ROW_KEYS: Final = 512
"""Maximum number of keys in a row."""
MOST_AT_ONCE: Final = 8
"""Maximum number of rows that are read at once."""
FORGOTTEN_AT_ONCE: Final = 500

ABSENT: Final = f"server <> ? AND server NOT IN ({LIVE}) AND NOT is_tried"


@dataclass(frozen=True, slots=True)
class OwedErasure:
    """Blocks to erase. `number` grows from one erasure to the next."""

    number: int
    keys: list[BlockKey]


class OwedErasureStore:
    """The owed erasures of this server. Every method is one transaction or one read.

    A file has one server, whose rows name none.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._server = database.server if database.is_shared else ""

    async def add(self, keys: Sequence[BlockKey], added_at: float) -> list[int]:
        """Owe the erasure of blocks, and return the numbers of the rows. A later transaction is not durable without it.

        added_at: Unix seconds.
        """
        return await self._database.write(lambda connection: self._insert(connection, keys, added_at), durable=False)

    async def replace(self, numbers: Sequence[int], keys: Sequence[BlockKey], added_at: float) -> list[int]:
        """Owe the erasure of blocks instead of what other rows say, and return the numbers of the rows."""

        def write(connection: DatabaseConnection) -> list[int]:
            _delete(connection, numbers)
            return self._insert(connection, keys, added_at)

        return await self._database.write(write, durable=False)

    async def remove(self, numbers: Sequence[int]) -> None:
        """Drop erasures that were made."""
        await self._database.write(lambda connection: _delete(connection, numbers), durable=False)

    async def after(self, number: int) -> list[OwedErasure]:
        """List erasures after a number, the earliest first, at most MOST_AT_ONCE of them."""
        return await self._database.read_as(
            _erasure_of,
            "SELECT number, block_keys FROM owed_erasure WHERE server = ? AND number > ? ORDER BY number LIMIT ?",
            (self._server, number, MOST_AT_ONCE),
        )

    async def adopt(self, former: str | None) -> None:
        """Take over what the server owed that this one replaces, and what was owed when the database was a file."""
        if self._server:
            await self._database.write(
                lambda connection: connection.execute(
                    "UPDATE owed_erasure SET server = ? WHERE server IN ('', ?)", (self._server, former or "")
                ),
                durable=False,
            )

    async def of_absent(self) -> list[OwedErasure]:
        """List erasures of servers that have ended, which no other server has tried, at most MOST_AT_ONCE of them."""
        return await self._database.read_as(
            _erasure_of,
            f"SELECT number, block_keys FROM owed_erasure WHERE {ABSENT} ORDER BY number LIMIT ?",
            (self._server, MOST_AT_ONCE),
        )

    async def note_tried(self, numbers: Sequence[int]) -> None:
        """Note that this server has made erasures of servers that have ended, in its own tiers."""
        await self._database.write(
            lambda connection: connection.execute_many(
                "UPDATE owed_erasure SET is_tried = TRUE WHERE number = ?", [(number,) for number in numbers]
            ),
            durable=False,
        )

    async def forget(self, until: float) -> None:
        """Drop erasures that any server has owed since `until` or before, because the blocks are gone by themselves."""
        old = "FROM owed_erasure WHERE added_at <= ?"
        while await self._database.read(f"SELECT 1 {old} LIMIT 1", (until,)):
            await self._database.write(
                lambda connection: connection.execute(
                    f"DELETE FROM owed_erasure WHERE number IN (SELECT number {old} ORDER BY number LIMIT ?)",
                    (until, FORGOTTEN_AT_ONCE),
                ),
                durable=False,
            )

    def _insert(self, connection: DatabaseConnection, keys: Sequence[BlockKey], added_at: float) -> list[int]:
        numbers = list[int]()
        for start in range(0, len(keys), ROW_KEYS):
            rows = connection.fetch_all(
                "INSERT INTO owed_erasure(server, block_keys, added_at) VALUES (?, ?, ?) RETURNING number",
                (self._server, b"".join(keys[start : start + ROW_KEYS]), added_at),
            )
            numbers += (row["number"] for row in rows)
        return numbers


def _delete(connection: DatabaseConnection, numbers: Sequence[int]) -> None:
    connection.execute_many("DELETE FROM owed_erasure WHERE number = ?", [(number,) for number in numbers])


def _erasure_of(row: Row) -> OwedErasure:
    packed = row["block_keys"]
    return OwedErasure(
        row["number"],
        [BlockKey(packed[start : start + KEY_BYTES]) for start in range(0, len(packed), KEY_BYTES)],
    )
