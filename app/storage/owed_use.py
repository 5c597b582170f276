"""Debts of tenants to their limits, kept for the next process."""

import time
from collections.abc import Mapping

from app.storage.connection import Connection
from app.storage.database import Database
from app.tenants.owed_use import OwedUse
from app.tenants.token_bucket import Debt

COLUMNS = "tenant, noted_at, requests_owed, requests_per_minute, tokens_owed, tokens_per_minute"


class OwedUseStore:
    """Debts of all tenants. Every method is one transaction or one read."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def all(self) -> dict[str, OwedUse]:
        """Read what each tenant still owes now. A clock that was set back changes no debt."""
        rows = await self._database.read(f"SELECT {COLUMNS} FROM owed_use")
        now = time.time()
        stored = {
            row["tenant"]: OwedUse(
                Debt(row["requests_owed"], row["requests_per_minute"]),
                Debt(row["tokens_owed"], row["tokens_per_minute"]),
            ).after(max(0.0, now - row["noted_at"]))
            for row in rows
        }
        return {tenant: owed for tenant, owed in stored.items() if owed}

    async def replace(self, owed_by: Mapping[str, OwedUse]) -> None:
        """Replace all stored debts with `owed_by`, which maps tenants to their debts."""
        now = time.time()
        rows = [
            (tenant, now, owed.requests.seconds, owed.requests.per_minute, owed.tokens.seconds, owed.tokens.per_minute)
            for tenant, owed in owed_by.items()
        ]

        def write(connection: Connection) -> None:
            connection.execute("DELETE FROM owed_use")
            connection.execute_many(f"INSERT INTO owed_use({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)", rows)

        await self._database.write(write)
