"""Debts of tenants to their limits, shared by the servers of a database and kept for the next process."""

from collections.abc import Mapping

from app.storage.connection import DatabaseConnection, Row
from app.storage.database import Database
from app.tenants.token_bucket import NOTHING_OWED, Debt, OwedUse

COLUMNS = "tenant, noted_at, requests_owed, requests_per_minute, tokens_owed, tokens_per_minute"


class OwedUseStore:
    """Debts of all tenants. Every method is one transaction or one read."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def all(self) -> dict[str, OwedUse]:
        """Read what each tenant still owes now. A clock that was set back changes no debt."""
        rows = await self._database.read(f"SELECT {COLUMNS}, {self._database.dialect.now} AS now FROM owed_use")
        stored = {row["tenant"]: _left(row) for row in rows}
        return {tenant: owed for tenant, owed in stored.items() if owed}

    async def add(self, added: Mapping[str, OwedUse]) -> dict[str, OwedUse]:
        """Add use to the debts of tenants, and return what each tenant owes now."""

        def write(connection: DatabaseConnection) -> dict[str, OwedUse]:
            now = connection.dialect.now
            owed = {
                row["tenant"]: _left(row)
                for row in connection.fetch_all(f"SELECT {COLUMNS}, {now} AS now FROM owed_use")
            }
            for tenant, use in added.items():
                owed[tenant] = owed.get(tenant, NOTHING_OWED).plus(use)
            connection.execute_many(
                "DELETE FROM owed_use WHERE tenant = ?", [(tenant,) for tenant, debt in owed.items() if not debt]
            )
            connection.execute_many(
                f"INSERT INTO owed_use({COLUMNS}) VALUES (?, {now}, ?, ?, ?, ?) "
                "ON CONFLICT(tenant) DO UPDATE SET noted_at = excluded.noted_at, "
                "requests_owed = excluded.requests_owed, requests_per_minute = excluded.requests_per_minute, "
                "tokens_owed = excluded.tokens_owed, tokens_per_minute = excluded.tokens_per_minute",
                [(tenant, *_values(owed[tenant])) for tenant in added if owed[tenant]],
            )
            return {tenant: debt for tenant, debt in owed.items() if debt}

        return await self._database.write(write)


def _left(row: Row) -> OwedUse:
    """Return the remaining debt of a row. A clock set back leaves it unchanged."""
    noted = OwedUse(
        Debt(row["requests_owed"], row["requests_per_minute"]), Debt(row["tokens_owed"], row["tokens_per_minute"])
    )
    return noted.after(max(0.0, row["now"] - row["noted_at"]))


def _values(owed: OwedUse) -> tuple[float, int | None, float, int | None]:
    return owed.requests.seconds, owed.requests.per_minute, owed.tokens.seconds, owed.tokens.per_minute
