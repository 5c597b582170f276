"""KV that every server erases from its own memory, after a deletion that one of them has completed."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from app.domain.token_history import pack_ids, unpack_ids
from app.storage.connection import DatabaseConnection, Row
from app.storage.database import Database
from engine.api.stored_tokens import Trail

ERASED: Final = "erased"
"""Topic of the notice that there is more to erase."""

KEPT_SECONDS: Final = 60.0
"""Time for which the tokens of an erasure are kept for the other servers."""
MOST_AT_ONCE: Final = 20


@dataclass(frozen=True, slots=True)
class Erasure:
    """Trails of a tenant to erase. `number` grows from one erasure to the next."""

    number: int
    tenant: str
    trails: list[Trail]


class ErasureStore:
    """The erasures of the last KEPT_SECONDS. Every method is one transaction or one read."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, tenant: str, trails: Sequence[Trail]) -> None:
        """Have all other servers erase trails of a tenant."""
        dumped = json.dumps(
            [[pack_ids(each.token_ids).hex(), each.num_shared, list(each.ends), each.model] for each in trails]
        )
        server = self._database.server

        def insert(connection: DatabaseConnection) -> None:
            now = connection.dialect.now
            connection.execute(
                f"INSERT INTO erasure(tenant, server, trails, added_at) VALUES (?, ?, ?, {now})",
                (tenant, server, dumped),
            )
            connection.notify(ERASED, "")

        await self._database.write(insert, durable=False)

    async def forget(self) -> None:
        """Drop the erasures that all servers have seen by now."""
        sql = f"FROM erasure WHERE added_at < {self._database.dialect.now} - ?"
        if await self._database.read(f"SELECT 1 {sql} LIMIT 1", (KEPT_SECONDS,)):
            await self._database.write(
                lambda connection: connection.execute(f"DELETE {sql}", (KEPT_SECONDS,)), durable=False
            )

    async def after(self, number: int) -> list[Erasure]:
        """List erasures of other servers after a number, the earliest first, at most MOST_AT_ONCE of them."""
        return await self._database.read_as(
            _erasure_of,
            "SELECT number, tenant, trails FROM erasure WHERE number > ? AND server <> ? ORDER BY number LIMIT ?",
            (number, self._database.server, MOST_AT_ONCE),
        )


def _erasure_of(row: Row) -> Erasure:
    trails = [
        Trail(unpack_ids(bytes.fromhex(ids)), num_shared, ends, model)
        for ids, num_shared, ends, model in json.loads(row["trails"])
    ]
    return Erasure(row["number"], row["tenant"], trails)
