"""How often each tenant was deleted, as all servers of a database know it. The tenants' salts follow from it."""

from collections.abc import Mapping
from typing import Final

from app.storage.connection import DatabaseConnection
from app.storage.database import Database

DELETED: Final = "deleted"
"""Topic of the notice that a tenant was deleted."""


class TenantDeletionStore:
    """Numbers of deletions of tenants. Every method is one transaction or one read."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def all(self) -> dict[str, int]:
        """Read the number of deletions of each tenant that was ever deleted."""
        rows = await self._database.read("SELECT tenant, deletions FROM tenant_deletion")
        return {row["tenant"]: row["deletions"] for row in rows}

    async def raise_to(self, deletions: Mapping[str, int]) -> None:
        """Raise the number of deletions of tenants to at least the given ones."""
        if not deletions:
            return

        def write(connection: DatabaseConnection) -> None:
            greatest = connection.dialect.greatest
            connection.execute_many(
                "INSERT INTO tenant_deletion(tenant, deletions) VALUES (?, ?) ON CONFLICT(tenant) DO UPDATE SET "
                f"deletions = {greatest}(tenant_deletion.deletions, excluded.deletions)",
                list(deletions.items()),
            )
            connection.notify(DELETED, "")

        await self._database.write(write)
