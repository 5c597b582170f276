"""What was deleted: hidden at once, removed later, and shown again if that is asked for in between."""

import time
from dataclasses import dataclass

import aiosqlite

from app.records import Conversation, Message
from app.storage.database import Database
from app.storage.next_prefixes import NEXT_PREFIXES
from app.storage.rows import message_of, no_conversation, no_message, node_of
from app.storage.tree import move_head, newest_leaf
from app.storage.versions import Versions, about_to_change
from app.token_trails import TokenNode
from engine.errors import ConflictError

NODE_COLUMNS = "id, parent_id, role, token_ids, prompt_key, starts_prompt"
HIDE_BRANCH = """
    WITH RECURSIVE branch(id) AS (
      VALUES (?) UNION ALL SELECT message.id FROM branch JOIN message ON message.parent_id = branch.id)
    UPDATE message SET deleted_at = ?, deleted_with = ? WHERE id IN branch AND deleted_at IS NULL RETURNING run_id
"""
BRANCH_AND_ABOVE = f"""
    WITH RECURSIVE branch(id) AS (
      VALUES (:id) UNION ALL SELECT message.id FROM branch JOIN message ON message.parent_id = branch.id),
    above(id) AS (
      SELECT parent_id FROM message WHERE id = :id
      UNION ALL SELECT message.parent_id FROM above JOIN message ON message.id = above.id)
    SELECT {NODE_COLUMNS} FROM message WHERE id IN branch OR id IN above
    UNION ALL {NEXT_PREFIXES} WHERE message_id IN branch
"""
CONVERSATION_NODES = f"""
    SELECT {NODE_COLUMNS} FROM message WHERE conversation_id = :id
    UNION ALL {NEXT_PREFIXES} WHERE message_id IN (SELECT id FROM message WHERE conversation_id = :id)
"""
OWN_MESSAGE = """
    SELECT message.* FROM message JOIN conversation ON conversation.id = conversation_id
    WHERE message.id = ? AND tenant = ?
"""
OLDEST_BRANCH = """
    SELECT message.id, tenant FROM message JOIN conversation ON conversation.id = conversation_id
    WHERE deleted_with = message.id AND message.deleted_at <= ? ORDER BY message.deleted_at LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class Removed:
    """What is gone for good: what tokens it had, with those above it."""

    tenant: str
    nodes: list[TokenNode]


class DeletionStore:
    """Of a tenant, but for `remove_oldest`. Every method is one transaction; once it has returned, its effect outlives
    the process."""

    def __init__(self, database: Database, tenant: str) -> None:
        self._database = database
        self._tenant = tenant

    async def hide_conversation(self, conversation_id: str, expected: Versions = None) -> None:
        """It can be shown again. Raises NotFoundError, VersionMismatchError."""

        async def update(connection: aiosqlite.Connection) -> None:
            await about_to_change(connection, self._tenant, conversation_id, expected)
            await connection.execute(
                "UPDATE conversation SET deleted_at = ?, version = version + 1 WHERE id = ?",
                (time.time(), conversation_id),
            )

        await self._database.write(update)

    async def show_conversation(self, conversation_id: str) -> Conversation:
        """As it was, also if it had not been deleted. Raises NotFoundError: it was never here, or is removed."""

        async def update(connection: aiosqlite.Connection) -> Conversation:
            await connection.execute(
                "UPDATE conversation SET deleted_at = NULL, version = version + 1 "
                "WHERE id = ? AND tenant = ? AND deleted_at IS NOT NULL",
                (conversation_id, self._tenant),
            )
            return await about_to_change(connection, self._tenant, conversation_id)

        return await self._database.write(update)

    async def hide_message(self, message_id: str, expected: Versions = None) -> tuple[Conversation, list[str]]:
        """With all that follows it. Returns its conversation, and the runs of what was hidden.

        If the head is hidden, the newest leaf below what the message followed becomes the head.
        Raises NotFoundError, VersionMismatchError.
        """

        async def update(connection: aiosqlite.Connection) -> tuple[Conversation, list[str]]:
            message = await _shown_message(connection, self._tenant, message_id)
            conversation = await about_to_change(connection, self._tenant, message.conversation_id, expected)
            hidden = await connection.execute_fetchall(HIDE_BRANCH, (message_id, time.time(), message_id))
            runs = [row["run_id"] for row in hidden if row["run_id"] is not None]
            head = conversation.head_id
            shown = await connection.execute_fetchall("SELECT 1 FROM shown_message WHERE id = ?", (head,))
            if not list(shown):
                head = await newest_leaf(connection, conversation.id, message.parent_id)
            return await move_head(connection, conversation, head), runs

        return await self._database.write(update)

    async def show_message(self, message_id: str) -> Conversation:
        """With all that was hidden with it; the path through it is shown. Does nothing if it is not hidden.

        Raises:
            NotFoundError: it was never here, or is removed, or its conversation was deleted.
            ConflictError: it went with a message above it, or what it follows was deleted after it.
        """

        async def update(connection: aiosqlite.Connection) -> Conversation:
            rows = list(await connection.execute_fetchall(OWN_MESSAGE, (message_id, self._tenant)))
            if not rows:
                raise no_message(message_id)
            message, deleted_with = message_of(rows[0]), rows[0]["deleted_with"]
            conversation = await about_to_change(connection, self._tenant, message.conversation_id)
            if deleted_with is None:
                return conversation
            # What went with a message above it has a parent that did so too.
            if message.parent_id is not None:
                parent = "SELECT deleted_with FROM message WHERE id = ?"
                [[above]] = await connection.execute_fetchall(parent, (message.parent_id,))
                if above is not None:
                    raise _deleted_above(above)
            await connection.execute(
                "UPDATE message SET deleted_at = NULL, deleted_with = NULL WHERE deleted_with = ?", (message_id,)
            )
            leaf = await newest_leaf(connection, conversation.id, message_id)
            return await move_head(connection, conversation, leaf)

        return await self._database.write(update)

    async def remove_conversation(self, conversation_id: str) -> list[TokenNode]:
        """For good, whether it is hidden or not; returns what tokens its messages had. Raises NotFoundError."""

        async def remove(connection: aiosqlite.Connection) -> list[TokenNode]:
            return await _remove_conversation(connection, self._tenant, conversation_id)

        return await self._database.write(remove)

    async def remove_all(self) -> int:
        """Every conversation and draft of the tenant, for good; returns how many conversations there were."""

        async def remove(connection: aiosqlite.Connection) -> int:
            await connection.execute("DELETE FROM draft WHERE tenant = ?", (self._tenant,))
            cursor = await connection.execute("DELETE FROM conversation WHERE tenant = ?", (self._tenant,))
            return cursor.rowcount

        return await self._database.write(remove)

    async def remove_oldest(self, until: float) -> Removed | None:
        """One of what any tenant hid at that time or before, for good; None if there is nothing to remove."""

        async def remove(connection: aiosqlite.Connection) -> Removed | None:
            sql = "SELECT id, tenant FROM conversation WHERE deleted_at <= ? LIMIT 1"
            for row in await connection.execute_fetchall(sql, (until,)):
                return Removed(row["tenant"], await _remove_conversation(connection, row["tenant"], row["id"]))
            # Those below come before those above, which take along what is still there.
            for row in await connection.execute_fetchall(OLDEST_BRANCH, (until,)):
                nodes = await connection.execute_fetchall(BRANCH_AND_ABOVE, {"id": row["id"]})
                await connection.execute("DELETE FROM message WHERE id = ?", (row["id"],))
                return Removed(row["tenant"], [node_of(node) for node in nodes])
            return None

        return await self._database.write(remove)


async def _shown_message(connection: aiosqlite.Connection, tenant: str, message_id: str) -> Message:
    sql = "SELECT * FROM shown_message WHERE id = ? AND tenant = ?"
    rows = list(await connection.execute_fetchall(sql, (message_id, tenant)))
    if not rows:
        raise no_message(message_id)
    return message_of(rows[0])


async def _remove_conversation(connection: aiosqlite.Connection, tenant: str, conversation_id: str) -> list[TokenNode]:
    nodes = await connection.execute_fetchall(CONVERSATION_NODES, {"id": conversation_id})
    sql = "DELETE FROM conversation WHERE id = ? AND tenant = ?"
    cursor = await connection.execute(sql, (conversation_id, tenant))
    if not cursor.rowcount:
        raise no_conversation(conversation_id)
    return [node_of(node) for node in nodes]


def _deleted_above(message_id: str) -> ConflictError:
    return ConflictError(f"It went with the message {message_id}: restore that one", code="deleted_with_another")
