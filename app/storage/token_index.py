"""Which stored messages hold the token ids with which a prompt begins."""

from app.storage.database import Database
from app.token_history import ID_BYTES

INDEXED_BYTES = 256
"""Of a message's tokens, by the index `message_start`: 64 ids."""


class TokenIndex:
    """Reads only."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def starting_like(self, packed: bytes, tenant: str) -> list[tuple[str, bytes]]:
        """The messages that start a prompt with the same first ids, of all conversations of the tenant: each one's id
        and tokens.

        Those that begin like it for a while and then part within the first 64 tokens are not among them. Another
        tenant's KV has other keys.
        """
        # A message may be shorter than what is indexed of it, and what follows it is of another one.
        beginnings = [packed[:end] for end in range(ID_BYTES, min(len(packed), INDEXED_BYTES) + 1, ID_BYTES)]
        rows = await self._database.read(
            f"SELECT id, token_ids FROM message WHERE starts_prompt AND substr(token_ids, 1, {INDEXED_BYTES}) IN "
            f"({', '.join('?' * len(beginnings))}) "
            "AND (SELECT tenant FROM conversation WHERE id = conversation_id) = ?",
            [*beginnings, tenant],
        )
        return [(row["id"], row["token_ids"]) for row in rows]

    async def followers(self, message_id: str) -> list[tuple[str, bytes]]:
        """The messages that go on from this one's tokens: each one's id and tokens."""
        rows = await self._database.read(
            "SELECT id, token_ids FROM message WHERE parent_id = ? AND NOT starts_prompt", (message_id,)
        )
        return [(row["id"], row["token_ids"]) for row in rows]
