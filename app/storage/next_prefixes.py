"""What was computed ahead of the next question, so that it can be erased with the answer that it follows."""

import sqlite3

from app.storage.database import Database

NEXT_PREFIXES = (
    "SELECT 'next_' || message_id AS id, message_id AS parent_id, 'assistant' AS role, token_ids, '' AS prompt_key, "
    "1 AS starts_prompt FROM next_prefix"
)
"""As nodes of a conversation's tokens: each is a prompt of its own, with one token behind it."""


class NextPrefixStore:
    """Every method is one transaction; once it has returned, its effect outlives the process."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def keep(self, message_id: str, token_ids: bytes) -> bool:
        """token_ids: packed. False, and nothing is kept, if the message was deleted."""

        def insert(connection: sqlite3.Connection) -> int:
            cursor = connection.execute(
                "INSERT OR REPLACE INTO next_prefix(message_id, token_ids) "
                "SELECT id, ? FROM shown_message WHERE id = ?",
                (token_ids, message_id),
            )
            return cursor.rowcount

        return await self._database.write(insert, durable=False) > 0


def forget_next_prefixes(connection: sqlite3.Connection, conversation_id: str) -> None:
    """Those of a conversation in which something else is said now."""
    connection.execute(
        "DELETE FROM next_prefix WHERE message_id IN (SELECT id FROM message WHERE conversation_id = ?)",
        (conversation_id,),
    )
