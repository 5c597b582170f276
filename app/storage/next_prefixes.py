"""What was computed ahead of the next question, so that it can be erased with the answer that it follows."""

import aiosqlite

from app.storage.database import Database


class NextPrefixStore:
    """Every method is one transaction; once it has returned, its effect outlives the process."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def keep(self, message_id: str, token_ids: bytes) -> bool:
        """token_ids: packed. False, and nothing is kept, if the message was deleted."""

        async def insert(connection: aiosqlite.Connection) -> int:
            cursor = await connection.execute(
                "INSERT OR REPLACE INTO next_prefix(message_id, token_ids) "
                "SELECT id, ? FROM shown_message WHERE id = ?",
                (token_ids, message_id),
            )
            return cursor.rowcount

        return await self._database.write(insert) > 0
