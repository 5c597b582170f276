"""Choices of a tenant that hold in every browser."""

from typing import Literal

from app.storage.database import Database

Preference = Literal["former_chats"]
"""former_chats: "refused" once the offer to take over the chats from before the first key was refused."""


class PreferenceStore:
    """The preferences of a tenant. Each method is one transaction or one read."""

    def __init__(self, database: Database, tenant: str) -> None:
        self._database = database
        self._tenant = tenant

    async def get(self, name: Preference) -> str | None:
        """Return the value of a preference; None without one."""
        rows = await self._database.read(
            "SELECT value FROM preference WHERE tenant = ? AND name = ?", (self._tenant, name), tenant=self._tenant
        )
        return rows[0]["value"] if rows else None

    async def put(self, name: Preference, value: str) -> None:
        """Replace the value of a preference."""
        await self._database.write(
            lambda connection: connection.execute(
                "INSERT INTO preference(tenant, name, value) VALUES (?, ?, ?) "
                "ON CONFLICT(tenant, name) DO UPDATE SET value = excluded.value",
                (self._tenant, name, value),
            )
        )
