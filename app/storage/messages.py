"""The messages of a tenant's conversations, without those that were deleted."""

from collections.abc import Sequence

from app.domain.records import Message
from app.storage.connection import Row
from app.storage.database import Database
from app.storage.rows import message_of, no_message
from engine.errors import NotFoundError

# From a message of a tenant to the first one of its path.
_PATH = """
    WITH RECURSIVE path(id, parent_id, depth) AS (
      SELECT id, parent_id, 0 FROM shown_message WHERE id = ? AND tenant = ?
      UNION ALL
      SELECT message.id, message.parent_id, depth + 1 FROM path JOIN message ON message.id = path.parent_id)
"""
PATH_QUERY = f"{_PATH} SELECT message.* FROM path JOIN message USING (id) ORDER BY depth DESC"

SIZE = "length(content) + length(coalesce(reasoning, '')) AS size"
PATH_SIZES = f"{_PATH} SELECT message.id, {SIZE} FROM path JOIN message USING (id) ORDER BY depth DESC"

PART_MESSAGES = 256
PART_CHARACTERS = 1 << 18
"""A part of a conversation ends before the message with which it would exceed either limit, unless it is the first."""

# A queue: each message comes before the one that it follows. Columns before the text are read without it.
PATH_IDS = """
    WITH RECURSIVE path(id, parent_id) AS (
      SELECT id, parent_id FROM shown_message WHERE id = ? AND tenant = ?
      UNION ALL
      SELECT message.id, message.parent_id FROM path JOIN message ON message.id = path.parent_id)
    SELECT id FROM path LIMIT ?
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
        """Return a message. Raises NotFoundError."""
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
        """Return the answer that a run wrote. Raises NotFoundError."""
        sql = "SELECT * FROM shown_message WHERE run_id = ? AND tenant = ?"
        messages = await self._database.read_as(message_of, sql, (run_id, self._tenant), tenant=self._tenant)
        if not messages:
            raise NotFoundError(f"There is no run {run_id}", code="run_not_found")
        return messages[0]

    async def all_of(self, conversation_id: str) -> list[Message]:
        """Return all messages of a conversation, the oldest first."""
        sql = "SELECT * FROM shown_message WHERE conversation_id = ? AND tenant = ? ORDER BY created_at, id"
        return await self._database.read_as(message_of, sql, (conversation_id, self._tenant), tenant=self._tenant)

    async def path(self, message_id: str | None) -> list[Message]:
        """Return the messages from the root to `message_id`, inclusive; none for None and for an unknown id."""
        return await self._database.read_as(message_of, PATH_QUERY, (message_id, self._tenant), tenant=self._tenant)

    async def path_part(
        self, message_id: str | None, *, since: str | None, newest_first: bool, most: int
    ) -> list[Message]:
        """Return at most `most` messages of the path to `message_id`, the oldest first.

        newest_first: select from the end of the path towards its root instead of from the root.
        since: first message to select; None selects from the start. The result is empty if `since` is not on the path.
        Not even the ids of other messages leave the database, since a path may have many thousands.
        """
        if newest_first and since is not None:
            is_there = await self._ids_from(since, message_id, most=1) == [since]
            ids = await self._ids_to(since, most) if is_there else []
        elif newest_first:
            ids = await self._ids_to(message_id, most)
        else:
            ids = await self._ids_from(since, message_id, most)
            if since is not None and ids[:1] != [since]:
                ids = []
        return await self.some(ids[::-1] if newest_first else ids)

    async def some(self, ids: Sequence[str]) -> list[Message]:
        """Return the messages with these ids, in this order, without those that are not there."""
        found = await self._database.read_as(
            message_of,
            f"SELECT * FROM shown_message WHERE id IN ({', '.join('?' * len(ids))}) AND tenant = ?",
            (*ids, self._tenant),
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

    async def _ids_to(self, message_id: str | None, most: int) -> list[str]:
        """Return the last ids of the path to a message, that one first."""
        given = (message_id, self._tenant, most)
        return [row["id"] for row in await self._database.read(PATH_IDS, given, tenant=self._tenant)]

    async def _ids_from(self, since: str | None, message_id: str | None, most: int) -> list[str]:
        """Return the first ids of PATH_IDS_FROM; those of the whole path without `since`."""
        given = {"end": message_id, "tenant": self._tenant, "since": since or "", "most": most}
        return [row["id"] for row in await self._database.read(PATH_IDS_FROM, given, tenant=self._tenant)]


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
