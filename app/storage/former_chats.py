"""Conversations from the time before the first key, which belong to the tenant of clients without a key."""

from app.storage.connection import DatabaseConnection
from app.storage.database import Database
from app.storage.folders import folder_at, folder_tree
from app.storage.responses import give_responses
from app.tenants.name import LOCAL

# An answer in progress would be written by a run of the former tenant.
FORMER = """
    SELECT id FROM conversation WHERE tenant = ? AND source = 'chat' AND deleted_at IS NULL AND counted
    AND NOT EXISTS (SELECT 1 FROM message WHERE conversation_id = conversation.id AND status = 'in_progress')
"""

NAMED = ("preset", "saved_prompt", "kept_file")


class FormerChats:
    """Chats of clients without a key. A tenant can take them over."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def count(self) -> int:
        """Count the chats that can be taken over."""
        [row] = await self._database.read(f"SELECT count(*) AS num FROM ({FORMER})", (LOCAL,))
        return int(row["num"])

    async def give_to(self, tenant: str) -> int:
        """Move the chats with their folders, drafts and links to `tenant`. Return how many were moved.

        Each chat moves in a separate transaction. The presets, saved prompts and kept files follow them, except for
        those whose names the tenant uses.
        """
        moved = 0
        for row in await self._database.read(FORMER, (LOCAL,)):
            moved += await self._move(row["id"], tenant)
        await self._database.write(lambda connection: _move_named(connection, tenant))
        return moved

    async def _move(self, conversation_id: str, tenant: str) -> bool:
        def move(connection: DatabaseConnection) -> bool:
            if connection.fetch_one(f"{FORMER} AND id = ?", (LOCAL, conversation_id)) is None:
                return False
            size = connection.fetch_one(
                "SELECT sum(nbytes) AS nbytes FROM stored_size WHERE conversation_id = ?", (conversation_id,)
            )
            assert size is not None
            connection.execute("UPDATE tenant_usage SET nbytes = nbytes - ? WHERE tenant = ?", (size["nbytes"], LOCAL))
            connection.execute(
                "INSERT INTO tenant_usage(tenant, nbytes) VALUES (?, ?) "
                "ON CONFLICT(tenant) DO UPDATE SET nbytes = tenant_usage.nbytes + excluded.nbytes",
                (tenant, size["nbytes"]),
            )
            row = connection.fetch_one("SELECT folder_id FROM conversation WHERE id = ?", (conversation_id,))
            assert row is not None
            path = folder_tree(connection, LOCAL).path(row["folder_id"]) if row["folder_id"] else ()
            folder_id = folder_at(connection, tenant, path)
            connection.execute(
                "UPDATE conversation SET tenant = ?, folder_id = ? WHERE id = ?", (tenant, folder_id, conversation_id)
            )
            for table in ("draft", "share"):
                connection.execute(
                    f"UPDATE {table} SET tenant = ? WHERE conversation_id = ?", (tenant, conversation_id)
                )
            give_responses(connection, conversation_id, tenant)
            self._database.text_index.reassign(connection, conversation_id, tenant)
            return True

        return await self._database.write_batch(move, tenant=tenant)


def _move_named(connection: DatabaseConnection, tenant: str) -> None:
    """Move what clients without a key kept under names. Triggers count the rows of each tenant."""
    has_default = connection.fetch_one("SELECT 1 FROM preset WHERE tenant = ? AND is_default", (tenant,)) is not None
    for table in NAMED:
        rows = connection.fetch_all(
            f"SELECT * FROM {table} WHERE tenant = ? AND name NOT IN (SELECT name FROM {table} WHERE tenant = ?)",
            (LOCAL, tenant),
        )
        for row in rows:
            values = dict(zip(row.keys(), row, strict=True)) | {"tenant": tenant}
            if table == "preset" and has_default:
                values["is_default"] = False
            connection.execute(f"DELETE FROM {table} WHERE id = ?", (row["id"],))
            connection.execute(
                f"INSERT INTO {table}({', '.join(values)}) VALUES ({', '.join('?' * len(values))})",
                tuple(values.values()),
            )
