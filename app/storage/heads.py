"""Token ids of the path that each conversation shows, read without the text of its messages."""

from dataclasses import dataclass
from itertools import groupby

from app.domain.token_history import MessageTokens, tokens_under
from app.storage.connection import Row
from app.storage.database import Database
from app.storage.other_tokens import REMOVED_ABOVE
from app.storage.rows import tokens_of

_KEY = f"CASE WHEN message.prompt_key = '{REMOVED_ABOVE}' THEN '' ELSE message.prompt_key END"

HEADS_QUERY = f"""
    WITH RECURSIVE path(conversation_id, id, parent_id, starts_prompt, depth, prompt_key) AS (
      SELECT shown_conversation.id, message.id, message.parent_id, message.starts_prompt, 0, {_KEY}
      FROM shown_conversation JOIN message ON message.id = head_id
      WHERE shown_conversation.id IN ({{names}}) AND tenant = ?
      UNION ALL
      SELECT path.conversation_id, message.id, message.parent_id,
        message.starts_prompt AND path.prompt_key IN ('', message.prompt_key), depth + 1,
        CASE WHEN path.prompt_key = '' THEN {_KEY} ELSE path.prompt_key END
      FROM path JOIN message ON message.id = path.parent_id WHERE NOT path.starts_prompt)
    SELECT path.conversation_id, system_prompt, depth, message.role, message.token_ids, message.prompt_key,
      message.starts_prompt, message.model, other_tokens.token_ids AS other_ids,
      other_tokens.starts_prompt AS other_starts, other_tokens.model AS other_model, path.prompt_key AS other_key,
      next_prefix.token_ids AS next_ids
    FROM path JOIN message USING (id) JOIN conversation ON conversation.id = path.conversation_id
    LEFT JOIN other_tokens ON other_tokens.message_id = path.id AND other_tokens.prompt_key = path.prompt_key
    LEFT JOIN next_prefix ON depth = 0 AND next_prefix.message_id = path.id
    ORDER BY path.conversation_id, depth DESC
"""
"""Parameters: conversation ids and a tenant. Messages above one that starts the prompt of the head are left out.

A message has the key of the head, or of the last message with a key above it.
"""


@dataclass(frozen=True, slots=True)
class PathTokens:
    """Role and token ids of one message of a path."""

    role: str
    token_lists: tuple[MessageTokens, ...]


@dataclass(frozen=True, slots=True)
class Head:
    """The shown path of a conversation.

    key: prompt key of the last message that has one; empty if none has.
    path: tokens of the messages from the start of the prompt to the head.
    next_ids: packed ids that were computed ahead of the next question, plus one token; empty if there are none.
    """

    system_prompt: str | None
    key: str
    path: list[PathTokens]
    next_ids: bytes

    @property
    def model(self) -> str | None:
        """Name of the model whose key this is; None if it is unknown."""
        return next((own.model for each in reversed(self.path) if (own := tokens_under(each, self.key))), None)


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
        heads = {name: _head(list(path)) for name, path in groupby(rows, lambda row: row["conversation_id"])}
        return {row["id"]: heads.get(row["id"]) for row in there}


def _head(path: list[Row]) -> Head:
    # The topmost row has the key that those below it agree on.
    return Head(
        path[-1]["system_prompt"], path[0]["other_key"], [_tokens_of(row) for row in path], path[-1]["next_ids"] or b""
    )


def _tokens_of(row: Row) -> PathTokens:
    own = tokens_of(row)
    if row["other_ids"] is None:
        return PathTokens(row["role"], (own,))
    other = MessageTokens(row["other_ids"], row["other_key"], bool(row["other_starts"]), row["other_model"])
    return PathTokens(row["role"], (own, other))
