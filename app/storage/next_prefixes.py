"""Prefixes computed ahead of the next question.

A prefix is stored so that its KV is erased along with the answer that it follows.
"""

from app.storage.connection import DatabaseConnection
from app.storage.database import Database

NEXT_PREFIXES = (
    "SELECT 'next_' || message_id AS id, message_id AS parent_id, 'assistant' AS role, next_prefix.token_ids, "
    "'' AS prompt_key, TRUE AS starts_prompt, model FROM next_prefix JOIN message ON message.id = message_id"
)
"""The prefixes as nodes of a conversation's tokens. Each is a separate prompt, plus one token."""


class NextPrefixStore:
    """The prefixes of all tenants.

    Each method is one transaction. Once a method has returned, its effect survives a crash of the process.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def keep(self, message_id: str, token_ids: bytes) -> bool:
        """Store the prefix computed after a message. Returns False, and stores nothing, if the message was deleted.

        token_ids: packed.
        """

        def insert(connection: DatabaseConnection) -> int:
            return connection.execute(
                "INSERT INTO next_prefix(message_id, token_ids) SELECT id, ? FROM shown_message WHERE id = ? "
                "ON CONFLICT(message_id) DO UPDATE SET token_ids = excluded.token_ids",
                (token_ids, message_id),
            )

        return await self._database.write(insert, durable=False) > 0


def forget_next_prefixes(connection: DatabaseConnection, conversation_id: str) -> None:
    """Delete the prefixes of a conversation whose history changes, inside the transaction of the caller."""
    connection.execute(
        "DELETE FROM next_prefix WHERE message_id IN (SELECT id FROM message WHERE conversation_id = ?)",
        (conversation_id,),
    )
