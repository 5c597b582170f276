"""Token ids of the path that each conversation shows, read without the text of its messages."""

from dataclasses import dataclass

from app.domain.token_history import MessageTokens
from app.storage.connection import Row
from app.storage.database import Database
from app.storage.rows import tokens_of

HEADS_QUERY = """
    WITH RECURSIVE path(conversation_id, id, parent_id, starts_prompt, depth) AS (
      SELECT shown_conversation.id, message.id, message.parent_id, message.starts_prompt, 0
      FROM shown_conversation JOIN message ON message.id = head_id
      WHERE shown_conversation.id IN ({names}) AND tenant = ?
      UNION ALL
      SELECT path.conversation_id, message.id, message.parent_id, message.starts_prompt, depth + 1
      FROM path JOIN message ON message.id = path.parent_id WHERE NOT path.starts_prompt)
    SELECT path.conversation_id, system_prompt, depth, message.token_ids, message.prompt_key, message.starts_prompt,
      next_prefix.token_ids AS next_ids
    FROM path JOIN message USING (id) JOIN conversation ON conversation.id = path.conversation_id
    LEFT JOIN next_prefix ON depth = 0 AND message_id = path.id
    ORDER BY path.conversation_id, depth DESC
"""
"""Parameters: conversation ids and a tenant. Messages above one that starts a prompt are left out."""


@dataclass(frozen=True, slots=True)
class Head:
    """The shown path of a conversation.

    path: tokens of the messages from the start of the prompt to the head.
    next_ids: packed ids that were computed ahead of the next question, plus one token; empty if there are none.
    """

    system_prompt: str | None
    path: list[MessageTokens]
    next_ids: bytes


class HeadStore:
    """The heads of a tenant's conversations. Read-only."""

    def __init__(self, database: Database, tenant: str) -> None:
        self._database = database
        self._tenant = tenant

    async def of(self, conversation_ids: list[str]) -> dict[str, Head | None]:
        """Return the head of each conversation that exists. None for a conversation without messages."""
        names = ", ".join("?" * len(conversation_ids))
        there = await self._database.read(
            f"SELECT id FROM shown_conversation WHERE id IN ({names}) AND tenant = ?",
            (*conversation_ids, self._tenant),
            tenant=self._tenant,
        )
        rows = await self._database.read(
            HEADS_QUERY.format(names=names), (*conversation_ids, self._tenant), tenant=self._tenant
        )
        paths: dict[str, list[Row]] = {}
        for row in rows:
            paths.setdefault(row["conversation_id"], []).append(row)
        return {row["id"]: _head(paths[row["id"]]) if row["id"] in paths else None for row in there}


def _head(path: list[Row]) -> Head:
    return Head(path[-1]["system_prompt"], [tokens_of(row) for row in path], path[-1]["next_ids"] or b"")
