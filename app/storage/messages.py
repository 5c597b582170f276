"""The messages of a tenant's conversations, without those that were deleted."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from app.domain.records import Message
from app.domain.token_history import MessageTokens
from app.storage.connection import Row
from app.storage.database import Database
from app.storage.rows import children_below, listed, message_of, no_message, shown_among, tokens_of
from engine.api.errors import NotFoundError

# From a message of a tenant to the first one of its path.
PATH = """
    WITH RECURSIVE path(id, parent_id, depth) AS (
      SELECT id, parent_id, 0 FROM shown_message WHERE id = ? AND tenant = ?
      UNION ALL
      SELECT message.id, message.parent_id, depth + 1 FROM path JOIN message ON message.id = path.parent_id)
"""
PATH_QUERY = f"{PATH} SELECT message.* FROM path JOIN message USING (id) ORDER BY depth DESC"

SIZE = "length(content) + length(coalesce(reasoning, '')) AS size"
PATH_SIZES = f"{PATH} SELECT message.id, {SIZE} FROM path JOIN message USING (id) ORDER BY depth DESC"

PART_MESSAGES = 256
PART_CHARACTERS = 1 << 18
"""A part of a conversation ends before the message with which it would exceed either limit, unless it is the first."""

# A queue: each message comes before the one that it follows. Columns before the text are read without it.
PATH_IDS = """
    WITH RECURSIVE path(id, parent_id) AS (
      SELECT id, parent_id FROM shown_message WHERE id = :end AND tenant = :tenant AND conversation_id = :conversation
      UNION ALL
      SELECT message.id, message.parent_id FROM path JOIN message ON message.id = path.parent_id)
    SELECT id FROM path LIMIT :most
"""

# From a message to the end of the path, the oldest first. A path that lacks the message is read from its beginning.
PATH_IDS_FROM = """
    WITH RECURSIVE path(id, parent_id, depth) AS (
      SELECT id, parent_id, 0 FROM shown_message WHERE id = :end AND tenant = :tenant
      UNION ALL
      SELECT message.id, message.parent_id, depth + 1 FROM path JOIN message ON message.id = path.parent_id
      WHERE path.id <> :since)
    SELECT id FROM path ORDER BY depth DESC LIMIT :most
"""

# Down from a message, or from the only root, to the end or to the first message that has several following it.
UNDIVIDED_IDS = """
    WITH RECURSIVE below(id) AS (
      SELECT id FROM shown_message WHERE conversation_id = :conversation AND tenant = :tenant AND {first}
      UNION ALL
      SELECT message.id FROM below {children}
      WHERE below.id <> :end AND message.deleted_at IS NULL AND NOT EXISTS (
        SELECT 1 FROM message AS other WHERE other.parent_id = below.id AND other.id <> message.id
          AND other.deleted_at IS NULL))
    SELECT id FROM below LIMIT :most
"""
ONLY_ROOT = """
    parent_id IS NULL AND NOT EXISTS (
      SELECT 1 FROM message AS other WHERE other.conversation_id = :conversation AND other.parent_id IS NULL
        AND other.id <> shown_message.id AND other.deleted_at IS NULL)
"""


class MessageStore:
    """The messages of a tenant. Reads only; `RunStore` writes answers."""

    def __init__(self, database: Database, tenant: str) -> None:
        self._database = database
        self._tenant = tenant

    async def find(self, message_id: str) -> Message | None:
        """Return a message; None if there is none."""
        sql = "SELECT * FROM shown_message WHERE id = ? AND tenant = ?"
        messages = await self._database.read_as(message_of, sql, (message_id, self._tenant), tenant=self._tenant)
        return messages[0] if messages else None

    async def get(self, message_id: str) -> Message:
        """Return a message. Raise NotFoundError."""
        message = await self.find(message_id)
        if message is None:
            raise no_message(message_id)
        return message

    async def own_prompt(self, message_id: str) -> bytes | None:
        """Return the packed ids of an answer's prompt; None if they are those of its path."""
        sql = (
            "SELECT answer_prompt.token_ids FROM answer_prompt JOIN shown_message ON id = message_id "
            "WHERE id = ? AND tenant = ?"
        )
        rows = await self._database.read(sql, (message_id, self._tenant), tenant=self._tenant)
        return rows[0]["token_ids"] if rows else None

    async def first_answer(self, message_id: str) -> Message | None:
        """Return the oldest of the messages that follow one."""
        sql = "SELECT * FROM shown_message WHERE parent_id = ? AND tenant = ? ORDER BY created_at, id LIMIT 1"
        messages = await self._database.read_as(message_of, sql, (message_id, self._tenant), tenant=self._tenant)
        return messages[0] if messages else None

    async def of_run(self, run_id: str) -> Message:
        """Return the answer that a run wrote. Raise NotFoundError."""
        sql = "SELECT * FROM shown_message WHERE run_id = ? AND tenant = ?"
        messages = await self._database.read_as(message_of, sql, (run_id, self._tenant), tenant=self._tenant)
        if not messages:
            raise NotFoundError(f"There is no run {run_id}", code="run_not_found")
        return messages[0]

    async def all_of(self, conversation_id: str) -> list[Message]:
        """Return all messages of a conversation, the oldest first."""
        sql = "SELECT * FROM shown_message WHERE conversation_id = ? AND tenant = ? ORDER BY created_at, id"
        found = await self._database.read_as(message_of, sql, (conversation_id, self._tenant), tenant=self._tenant)
        return await self._with_other_tokens(found)

    async def path(self, message_id: str | None) -> list[Message]:
        """Return the messages from the root to `message_id`, inclusive; none for None and for an unknown id."""
        path = await self._database.read_as(message_of, PATH_QUERY, (message_id, self._tenant), tenant=self._tenant)
        return await self._with_other_tokens(path) if _has_other_tokens(path) else path

    async def path_part(
        self, conversation_id: str, message_id: str | None, *, since: str | None, newest_first: bool, most: int
    ) -> list[Message]:
        """Return at most `most` messages of the path to `message_id`, the oldest first.

        Takes steps for these messages alone, and along the path only where it has branches.

        newest_first: select from the end of the path towards its root instead of from the root.
        since: first message to select; None selects from the start. A message of another branch is followed by those of
            its own, as far as there is one way only. A message of another conversation selects nothing.
        """
        return await self.some(
            await self._ids_of_part(conversation_id, message_id, since=since, newest_first=newest_first, most=most)
        )

    async def parts_of_part(
        self, conversation_id: str, message_id: str | None, *, since: str | None, newest_first: bool, most: int
    ) -> list[list[str]]:
        """Return the ids of the messages of `path_part`, in parts that take little memory each."""
        ids = await self._ids_of_part(conversation_id, message_id, since=since, newest_first=newest_first, most=most)
        sql = f"SELECT shown_message.id, {SIZE} FROM {shown_among(self._database.dialect)} WHERE tenant = ?"
        rows = await self._database.read(sql, (listed(ids), self._tenant), tenant=self._tenant)
        by_id = {row["id"]: row for row in rows}
        return _parts([by_id[each] for each in ids if each in by_id])

    async def _ids_of_part(
        self, conversation_id: str, message_id: str | None, *, since: str | None, newest_first: bool, most: int
    ) -> list[str]:
        place = {"conversation": conversation_id, "tenant": self._tenant, "since": since, "most": most}
        if newest_first:
            return (await self._ids(PATH_IDS, place, end=since or message_id))[::-1]
        first = "id = :since" if since is not None else ONLY_ROOT
        undivided = UNDIVIDED_IDS.format(first=first, children=children_below(self._database.dialect))
        ids = await self._ids(undivided, place, end=message_id)
        if (ids or since is None) and len(ids) < most and ids[-1:] != [message_id]:
            exact = await self._ids(PATH_IDS_FROM, {**place, "since": since or ""}, end=message_id)
            ids = exact if since in (None, *exact[:1]) else ids
        return ids

    async def on_path(self, message_id: str | None, sought: str) -> Message | None:
        """Return a message of the path to `message_id`; None if it is not on that path."""
        place = {"tenant": self._tenant, "since": sought, "most": 1}
        is_there = await self._ids(PATH_IDS_FROM, place, end=message_id) == [sought]
        return await self.find(sought) if is_there else None

    async def some(self, ids: Sequence[str]) -> list[Message]:
        """Return the messages with these ids, in this order, without those that are not there."""
        if not ids:
            return []
        found = await self._database.read_as(
            message_of,
            f"SELECT shown_message.* FROM {shown_among(self._database.dialect)} WHERE tenant = ?",
            (listed(ids), self._tenant),
            tenant=self._tenant,
        )
        by_id = {message.id: message for message in found}
        return [by_id[each] for each in ids if each in by_id]

    async def parts_of_path(self, message_id: str | None) -> list[list[str]]:
        """Return the ids of the messages from the root to `message_id`, in parts that take little memory each."""
        return _parts(await self._database.read(PATH_SIZES, (message_id, self._tenant), tenant=self._tenant))

    async def parts_of(self, conversation_id: str) -> list[list[str]]:
        """Return the ids of all messages of a conversation, the oldest first, in parts that take little memory each."""
        sql = f"SELECT id, {SIZE} FROM shown_message WHERE conversation_id = ? AND tenant = ? ORDER BY created_at, id"
        return _parts(await self._database.read(sql, (conversation_id, self._tenant), tenant=self._tenant))

    async def _with_other_tokens(self, messages: list[Message]) -> list[Message]:
        """Return messages of one conversation with their token ids under further prompt keys."""
        if not messages:
            return messages
        rows = await self._database.read(
            "SELECT other_tokens.* FROM other_tokens "
            "JOIN message ON message.id = message_id WHERE conversation_id = ? "
            "ORDER BY message_id, other_tokens.prompt_key",
            (messages[0].conversation_id,),
            tenant=self._tenant,
        )
        others = dict[str, tuple[MessageTokens, ...]]()
        for row in rows:
            others[row["message_id"]] = (*others.get(row["message_id"], ()), tokens_of(row))
        return [replace(each, other_tokens=others[each.id]) if each.id in others else each for each in messages]

    async def _ids(self, sql: str, given: Mapping[str, object], *, end: str | None) -> list[str]:
        # Not even the ids of other messages leave the database, since a path may have many thousands.
        return [row["id"] for row in await self._database.read(sql, {**given, "end": end}, tenant=self._tenant)]


def _has_other_tokens(path: Sequence[Message]) -> bool:
    """Return whether a question of the path may have token ids under further prompt keys.

    Either its answer has another key, or it is the last message, which may be answered under any key.
    """
    ends_with_question = bool(path) and path[-1].role != "assistant" and bool(path[-1].tokens.prompt_key)
    return ends_with_question or any(
        after.role == "assistant" and after.tokens.prompt_key not in ("", before.tokens.prompt_key)
        for before, after in pairwise(path)
    )


def _parts(rows: Sequence[Row]) -> list[list[str]]:
    """Divide the ids of messages into parts.

    rows: id and size of each message.
    """
    parts, size = list[list[str]](), 0
    for row in rows:
        size += row["size"]
        if not parts or size > PART_CHARACTERS or len(parts[-1]) == PART_MESSAGES:
            parts.append([])
            size = row["size"]
        parts[-1].append(row["id"])
    return parts
