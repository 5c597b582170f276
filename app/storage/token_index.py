"""Look-up of stored messages by the token ids with which a prompt begins."""

from dataclasses import dataclass

from app.domain.token_history import ID_BYTES
from app.storage.connection import Row
from app.storage.database import Database
from app.storage.rows import children_below

INDEXED_BYTES = 256
"""Bytes of a message's token ids that the indexes `message_start` and `other_start` cover: 64 ids."""

# Messages between those of the key have ids of other prompts.
FOLLOWERS = """
    WITH RECURSIVE below(id, role, prompt_key) AS (
      SELECT id, role, prompt_key FROM message WHERE parent_id = :id
      UNION ALL SELECT message.id, message.role, message.prompt_key FROM below {children}
      WHERE below.role <> 'assistant' OR below.prompt_key <> :key)
    SELECT message.id, token_ids, message.prompt_key, model FROM below JOIN message ON message.id = below.id
    WHERE message.prompt_key = :key AND NOT starts_prompt
    UNION ALL
    SELECT message_id, token_ids, other_tokens.prompt_key, model FROM below JOIN other_tokens ON message_id = below.id
    WHERE other_tokens.prompt_key = :key AND NOT starts_prompt
"""


@dataclass(frozen=True, slots=True)
class TokenList:
    """The token ids of a stored message under one prompt key.

    ids: packed.
    model: as in `MessageTokens`.
    """

    message_id: str
    key: str
    ids: bytes
    model: str | None


class TokenIndex:
    """Messages by token ids, across all conversations. Read-only."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def starting_like(self, packed: bytes, tenant: str) -> list[TokenList]:
        """Find the tenant's messages that start a prompt with the same first ids as `packed`.

        A message that diverges from `packed` within the first 64 ids is not found, even if some ids match. Other
        tenants' messages are left out, since their KV has other keys. Deleted conversations that keep no KV are left
        out as well.
        """
        # A message may be shorter than the indexed length. The ids after it then belong to the next message.
        beginnings = [packed[:end] for end in range(ID_BYTES, min(len(packed), INDEXED_BYTES) + 1, ID_BYTES)]
        among = f"starts_prompt AND substr(token_ids, 1, {INDEXED_BYTES}) IN ({', '.join('?' * len(beginnings))})"
        with_kv = (
            "EXISTS (SELECT 1 FROM conversation WHERE conversation.id = conversation_id AND tenant = ? "
            "AND (deleted_at IS NULL OR keeps_kv))"
        )
        return await self._database.read_as(
            _list_of,
            f"SELECT id, prompt_key, token_ids, model FROM message WHERE {among} AND {with_kv} "
            "UNION ALL SELECT message_id, other.prompt_key, other.token_ids, other.model "
            f"FROM (SELECT * FROM other_tokens WHERE {among}) AS other JOIN message ON id = message_id WHERE {with_kv}",
            [*beginnings, tenant] * 2,
        )

    async def followers(self, before: TokenList) -> list[TokenList]:
        """Return the lists of token ids that continue that of a message."""
        query = FOLLOWERS.format(children=children_below(self._database.dialect))
        return await self._database.read_as(_list_of, query, {"id": before.message_id, "key": before.key})


def _list_of(row: Row) -> TokenList:
    return TokenList(row["id"], row["prompt_key"], row["token_ids"], row["model"])
