"""Look-up of stored messages by the token ids with which a prompt begins."""

from app.domain.token_history import ID_BYTES
from app.storage.database import Database

INDEXED_BYTES = 256
"""Bytes of a message's token ids that the index `message_start` covers: 64 ids."""


class TokenIndex:
    """Messages by token ids, across all conversations. Read-only."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def starting_like(self, packed: bytes, tenant: str) -> list[tuple[str, bytes]]:
        """Find the tenant's messages that start a prompt with the same first ids as `packed`.

        Returns message ids and packed token ids. A message that diverges from `packed` within the first 64 ids is not
        found, even if some ids match. Other tenants' messages are left out, since their KV has other keys. Deleted
        conversations that keep no KV are left out as well.
        """
        # A message may be shorter than the indexed length. The ids after it then belong to the next message.
        beginnings = [packed[:end] for end in range(ID_BYTES, min(len(packed), INDEXED_BYTES) + 1, ID_BYTES)]
        rows = await self._database.read(
            f"SELECT id, token_ids FROM message WHERE starts_prompt AND substr(token_ids, 1, {INDEXED_BYTES}) IN "
            f"({', '.join('?' * len(beginnings))}) "
            "AND EXISTS (SELECT 1 FROM conversation WHERE conversation.id = conversation_id AND tenant = ? "
            "AND (deleted_at IS NULL OR keeps_kv))",
            [*beginnings, tenant],
        )
        return [(row["id"], row["token_ids"]) for row in rows]

    async def followers(self, message_id: str) -> list[tuple[str, bytes]]:
        """Return the children whose tokens continue those of the message: their ids and packed token ids."""
        rows = await self._database.read(
            "SELECT id, token_ids FROM message WHERE parent_id = ? AND NOT starts_prompt", (message_id,)
        )
        return [(row["id"], row["token_ids"]) for row in rows]
