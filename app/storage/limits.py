"""Limits of tenants, and the one that only a transaction can hold: how many conversations are stored."""

import sqlite3

from app.storage.database import Database
from app.tenant_limits import LIMIT_NAMES, LimitReachedError, TenantLimits

RETRY_SECONDS = 60
"""Nobody knows when a conversation will be deleted."""

COLUMNS = ", ".join(LIMIT_NAMES)


class LimitStore:
    """Every method is one transaction or one read."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def all(self) -> dict[str, TenantLimits]:
        """Of the tenants that ever got some."""
        rows = await self._database.read_keys(f"SELECT tenant, {COLUMNS} FROM tenant_limits")
        return {row["tenant"]: TenantLimits(*(row[name] for name in LIMIT_NAMES)) for row in rows}

    async def set(self, tenant: str, limits: TenantLimits) -> None:
        """In place of those that it had."""
        values = [tenant, *(getattr(limits, name) for name in LIMIT_NAMES)]

        def replace(connection: sqlite3.Connection) -> None:
            places = ", ".join("?" * len(values))
            connection.execute(f"INSERT OR REPLACE INTO tenant_limits(tenant, {COLUMNS}) VALUES ({places})", values)

        await self._database.write(replace)


def check_room(connection: sqlite3.Connection, tenant: str, num_new: int) -> None:
    """For some more conversations, inside the transaction that makes them. Raises LimitReachedError.

    Deleted ones do not count while they can be restored, up to as many again: else a loop that makes and deletes
    would store without end.
    """
    rows = connection.execute(
        "SELECT conversations AS most, (SELECT count(*) FROM conversation WHERE tenant = :tenant) AS stored, "
        "(SELECT count(*) FROM conversation WHERE tenant = :tenant AND deleted_at IS NULL) AS shown "
        "FROM tenant_limits WHERE tenant = :tenant AND conversations IS NOT NULL",
        {"tenant": tenant},
    ).fetchall()
    for row in rows:
        if row["shown"] + num_new > row["most"] or row["stored"] + num_new > 2 * row["most"]:
            raise LimitReachedError(
                "conversations",
                f"{row['shown']} conversations are stored, of {row['most']} that this tenant may have: delete some",
                retry_after=RETRY_SECONDS,
            )
