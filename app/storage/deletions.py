"""What was deleted: hidden at once, removed later, and shown again if that is asked for in between."""

import time

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


class DeletionStore:
    """Every method is one transaction; once it has returned, its effect outlives the process."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def hide_conversation(self, conversation_id: str, expected: Versions = None) -> None:
        """It can be shown again. Raises NotFoundError, VersionMismatchError."""

        async def update(connection: aiosqlite.Connection) -> None:
            await about_to_change(connection, conversation_id, expected)
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
                "WHERE id = ? AND deleted_at IS NOT NULL",
                (conversation_id,),
            )
            return await about_to_change(connection, conversation_id)

        return await self._database.write(update)

    async def hide_message(self, message_id: str, expected: Versions = None) -> tuple[Conversation, list[str]]:
        """With all that follows it. Returns its conversation, and the runs of what was hidden.

        If the head is hidden, the newest leaf below what the message followed becomes the head.
        Raises NotFoundError, VersionMismatchError.
        """

        async def update(connection: aiosqlite.Connection) -> tuple[Conversation, list[str]]:
            message = await _message(connection, "shown_message", message_id)
            conversation = await about_to_change(connection, message.conversation_id, expected)
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
            rows = list(await connection.execute_fetchall("SELECT * FROM message WHERE id = ?", (message_id,)))
            if not rows:
                raise no_message(message_id)
            message, deleted_with = message_of(rows[0]), rows[0]["deleted_with"]
            conversation = await about_to_change(connection, message.conversation_id)
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
            return await _remove_conversation(connection, conversation_id)

        return await self._database.write(remove)

    async def remove_oldest(self, until: float) -> list[TokenNode] | None:
        """One of what was hidden at that time or before, for good. Returns what tokens it had, with those above it;
        None if there is nothing to remove."""

        async def remove(connection: aiosqlite.Connection) -> list[TokenNode] | None:
            sql = "SELECT id FROM conversation WHERE deleted_at <= ? LIMIT 1"
            for row in await connection.execute_fetchall(sql, (until,)):
                return await _remove_conversation(connection, row["id"])
            # Those below come before those above, which take along what is still there.
            sql = "SELECT id FROM message WHERE deleted_with = id AND deleted_at <= ? ORDER BY deleted_at LIMIT 1"
            for row in await connection.execute_fetchall(sql, (until,)):
                nodes = await connection.execute_fetchall(BRANCH_AND_ABOVE, {"id": row["id"]})
                await connection.execute("DELETE FROM message WHERE id = ?", (row["id"],))
                return [node_of(node) for node in nodes]
            return None

        return await self._database.write(remove)


async def _message(connection: aiosqlite.Connection, table: str, message_id: str) -> Message:
    rows = list(await connection.execute_fetchall(f"SELECT * FROM {table} WHERE id = ?", (message_id,)))
    if not rows:
        raise no_message(message_id)
    return message_of(rows[0])


async def _remove_conversation(connection: aiosqlite.Connection, conversation_id: str) -> list[TokenNode]:
    nodes = await connection.execute_fetchall(CONVERSATION_NODES, {"id": conversation_id})
    cursor = await connection.execute("DELETE FROM conversation WHERE id = ?", (conversation_id,))
    if not cursor.rowcount:
        raise no_conversation(conversation_id)
    return [node_of(node) for node in nodes]


def _deleted_above(message_id: str) -> ConflictError:
    return ConflictError(f"It went with the message {message_id}: restore that one", code="deleted_with_another")
