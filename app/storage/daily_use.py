"""Use of each tenant by day, added up by all servers of a database."""

from collections.abc import Mapping

from app.storage.connection import DatabaseConnection
from app.storage.database import Database
from app.tenants.token_bucket import Use


class DailyUseStore:
    """Use of all tenants. Days are dates in UTC, such as 2026-11-23."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, added: Mapping[tuple[str, str], Use], *, oldest: str) -> None:
        """Add use to that of tenants on days, in one transaction, and forget the days before `oldest`."""
        rows = [(tenant, day, use.requests, use.tokens) for (tenant, day), use in added.items()]

        def write(connection: DatabaseConnection) -> None:
            connection.execute_many(
                "INSERT INTO daily_use(tenant, day, requests, tokens) VALUES (?, ?, ?, ?) "
                "ON CONFLICT(tenant, day) DO UPDATE SET requests = daily_use.requests + excluded.requests, "
                "tokens = daily_use.tokens + excluded.tokens",
                rows,
            )
            connection.execute("DELETE FROM daily_use WHERE day < ?", (oldest,))

        await self._database.write(write)

    async def since(self, day: str) -> dict[str, Use]:
        """Return the sum of each tenant's use from a day on."""
        rows = await self._database.read(
            "SELECT tenant, sum(requests) AS requests, sum(tokens) AS tokens FROM daily_use WHERE day >= ? "
            "GROUP BY tenant",
            (day,),
        )
        return {row["tenant"]: Use(int(row["requests"]), int(row["tokens"])) for row in rows}

    async def forget(self, tenant: str) -> None:
        """Delete the use of a tenant."""
        await self._database.write(
            lambda connection: connection.execute("DELETE FROM daily_use WHERE tenant = ?", (tenant,))
        )
