"""Deletions: messages and conversations are hidden at once, removed later, and can be restored in between."""

import sqlite3
import time

from app.records import Conversation, Message
from app.storage.database import Database
from app.storage.removals import Removal, Removed, mark, next_removal, remove
from app.storage.rows import message_of, no_conversation, no_message
from app.storage.tree import move_head, newest_leaf
from app.storage.versions import Versions, about_to_change
from app.token_trails import TokenNode
from engine.errors import ConflictError

HIDE_BRANCH = """
    WITH RECURSIVE branch(id) AS (
      VALUES (?) UNION ALL SELECT message.id FROM branch JOIN message ON message.parent_id = branch.id)
    UPDATE message SET deleted_at = ?, deleted_with = ? WHERE id IN branch AND deleted_at IS NULL RETURNING run_id
"""
OWN_MESSAGE = """
    SELECT message.* FROM message JOIN conversation ON conversation.id = conversation_id
    WHERE message.id = ? AND tenant = ?
"""
# Branches below come before branches above, which take along what is still there.
OLDEST_BRANCH = """
    SELECT tenant, conversation_id, message.id FROM message JOIN conversation ON conversation.id = conversation_id
    WHERE deleted_with = message.id AND message.deleted_at <= ? ORDER BY message.deleted_at LIMIT 1
"""
# An import that is being written is hidden as well, and not deleted.
OLDEST_CONVERSATION = """
    SELECT tenant, id, NULL FROM conversation
    WHERE deleted_at <= ? AND id NOT IN (SELECT conversation_id FROM staged) LIMIT 1
"""
MARK_BATCH = 500
"""Conversations of a tenant that one transaction hides."""


class DeletionStore:
    """The deletions of a tenant; `remove_oldest` is the server's.

    Hiding and restoring are one transaction each. Removals are many: the first one makes them certain.
    """

    def __init__(self, database: Database, tenant: str) -> None:
        self._database = database
        self._tenant = tenant

    async def hide_conversation(self, conversation_id: str, expected: Versions = None) -> None:
        """It can be shown again. Raises NotFoundError, VersionMismatchError."""

        def update(connection: sqlite3.Connection) -> None:
            about_to_change(connection, self._tenant, conversation_id, expected)
            connection.execute(
                "UPDATE conversation SET deleted_at = ?, version = version + 1 WHERE id = ?",
                (time.time(), conversation_id),
            )

        await self._database.write(update)

    async def show_conversation(self, conversation_id: str) -> Conversation:
        """Restore a conversation as it was; one that was not deleted stays as it is.

        Raises NotFoundError: it was never here, or is removed or being removed.
        """

        def update(connection: sqlite3.Connection) -> Conversation:
            connection.execute(
                "UPDATE conversation SET deleted_at = NULL, version = version + 1 "
                "WHERE id = ? AND tenant = ? AND deleted_at IS NOT NULL "
                "AND id NOT IN (SELECT conversation_id FROM staged) "
                "AND id NOT IN (SELECT conversation_id FROM removal WHERE message_id IS NULL)",
                (conversation_id, self._tenant),
            )
            return about_to_change(connection, self._tenant, conversation_id)

        return await self._database.write(update)

    async def hide_message(self, message_id: str, expected: Versions = None) -> tuple[Conversation, list[str]]:
        """With all that follows it. Returns its conversation, and the runs of what was hidden.

        If the head is hidden, the newest leaf below what the message followed becomes the head.
        Raises NotFoundError, VersionMismatchError.
        """

        def update(connection: sqlite3.Connection) -> tuple[Conversation, list[str]]:
            message = _shown_message(connection, self._tenant, message_id)
            conversation = about_to_change(connection, self._tenant, message.conversation_id, expected)
            hidden = connection.execute(HIDE_BRANCH, (message_id, time.time(), message_id)).fetchall()
            runs = [row["run_id"] for row in hidden if row["run_id"] is not None]
            head = conversation.head_id
            shown = connection.execute("SELECT 1 FROM shown_message WHERE id = ?", (head,)).fetchall()
            if not list(shown):
                head = newest_leaf(connection, conversation.id, message.parent_id)
            return move_head(connection, conversation, head), runs

        return await self._database.write(update)

    async def show_message(self, message_id: str) -> Conversation:
        """With all that was hidden with it; the path through it is shown. Does nothing if it is not hidden.

        Raises:
            NotFoundError: it was never here, or is removed, or its conversation was deleted.
            ConflictError: it went with a message above it, or what it follows was deleted after it.
        """

        def update(connection: sqlite3.Connection) -> Conversation:
            rows = list(connection.execute(OWN_MESSAGE, (message_id, self._tenant)).fetchall())
            if not rows:
                raise no_message(message_id)
            message, deleted_with = message_of(rows[0]), rows[0]["deleted_with"]
            conversation = about_to_change(connection, self._tenant, message.conversation_id)
            if deleted_with is None:
                return conversation
            if connection.execute("SELECT 1 FROM removal WHERE message_id = ?", (deleted_with,)).fetchall():
                raise no_message(message_id)
            # What went with a message above it has a parent that did so too.
            if message.parent_id is not None:
                parent = "SELECT deleted_with FROM message WHERE id = ?"
                [[above]] = connection.execute(parent, (message.parent_id,)).fetchall()
                if above is not None:
                    raise _deleted_above(above)
            connection.execute(
                "UPDATE message SET deleted_at = NULL, deleted_with = NULL WHERE deleted_with = ?", (message_id,)
            )
            leaf = newest_leaf(connection, conversation.id, message_id)
            return move_head(connection, conversation, leaf)

        return await self._database.write(update)

    async def remove_conversation(self, conversation_id: str) -> list[TokenNode]:
        """Remove a conversation for good, whether it is hidden or not; returns the tokens of its messages.

        Raises NotFoundError.
        """
        removal = Removal(self._tenant, conversation_id, None)

        def begin(connection: sqlite3.Connection) -> None:
            cursor = connection.execute(
                "UPDATE conversation SET deleted_at = coalesce(deleted_at, ?) WHERE id = ? AND tenant = ?",
                (time.time(), conversation_id, self._tenant),
            )
            if not cursor.rowcount:
                raise no_conversation(conversation_id)
            mark(connection, removal)

        await self._database.write(begin)
        return await remove(self._database, removal)

    async def remove_all(self) -> int:
        """Remove every conversation and draft of the tenant for good; returns how many conversations there were."""
        await self._database.write(lambda each: each.execute("DELETE FROM draft WHERE tenant = ?", (self._tenant,)))
        removals = list[Removal]()
        while found := await self._database.write(self._mark_some):
            removals += found
        for removal in removals:
            await remove(self._database, removal)
        return len(removals)

    def _mark_some(self, connection: sqlite3.Connection) -> list[Removal]:
        rows = connection.execute(
            "SELECT tenant, id, NULL FROM conversation WHERE tenant = ? "
            "AND id NOT IN (SELECT conversation_id FROM removal WHERE message_id IS NULL) LIMIT ?",
            (self._tenant, MARK_BATCH),
        ).fetchall()
        removals = [Removal(*row) for row in rows]
        for removal in removals:
            connection.execute(
                "UPDATE conversation SET deleted_at = coalesce(deleted_at, ?) WHERE id = ?",
                (time.time(), removal.conversation_id),
            )
            mark(connection, removal)
        return removals

    async def remove_oldest(self, until: float) -> Removed | None:
        """Remove one deletion of any tenant for good: one that has begun, or was hidden at that time or before.

        Returns None if there is nothing to remove.
        """

        def begin(connection: sqlite3.Connection) -> Removal | None:
            if (begun := next_removal(connection)) is not None:
                return begun
            for sql in (OLDEST_CONVERSATION, OLDEST_BRANCH):
                for row in connection.execute(sql, (until,)).fetchall():
                    mark(connection, removal := Removal(*row))
                    return removal
            return None

        removal = await self._database.write(begin)
        if removal is None:
            return None
        return Removed(removal.tenant, await remove(self._database, removal))


def _shown_message(connection: sqlite3.Connection, tenant: str, message_id: str) -> Message:
    sql = "SELECT * FROM shown_message WHERE id = ? AND tenant = ?"
    rows = list(connection.execute(sql, (message_id, tenant)).fetchall())
    if not rows:
        raise no_message(message_id)
    return message_of(rows[0])


def _deleted_above(message_id: str) -> ConflictError:
    return ConflictError(f"It went with the message {message_id}: restore that one", code="deleted_with_another")
