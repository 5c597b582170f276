"""Deletions of messages and conversations: hidden at once, removed later, and restorable in between."""

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial

from app.domain.answer_tokens import TokenNode
from app.domain.records import Conversation, Message
from app.storage.connection import DatabaseConnection
from app.storage.database import Database
from app.storage.lone_turns import copy_what_follows, turn_of
from app.storage.recently_deleted import COMPLETE, KEPT, RESTORABLE, hide_shown
from app.storage.removals import Leaving, Removal, Removed, mark, mark_hidden, next_removal, remove, without_kv
from app.storage.rows import children_below, message_of, no_conversation, no_message
from app.storage.tree import move_head, newest_leaf
from app.storage.versions import Versions, about_to_change
from engine.api.errors import ConflictError, NotFoundError

HIDE_BRANCH = """
    WITH RECURSIVE below(id) AS (
      SELECT id FROM message WHERE id = ?
      UNION ALL SELECT message.id FROM below {children})
    UPDATE message SET deleted_at = ?, deleted_with = ?
    WHERE id IN (SELECT id FROM below) AND deleted_at IS NULL RETURNING run_id
"""
OWN_MESSAGE = """
    SELECT message.* FROM message JOIN conversation ON conversation.id = conversation_id
    WHERE message.id = ? AND tenant = ?
"""
# A deleted branch inside a larger deleted branch was deleted first, so it is removed first. Removing the larger branch
# removes whatever is left below it.
OLDEST_BRANCH = """
    SELECT tenant, conversation_id, message.id FROM message JOIN conversation ON conversation.id = conversation_id
    WHERE deleted_with = message.id AND message.deleted_at <= ? ORDER BY message.deleted_at LIMIT 1
"""
OLDEST_CONVERSATION = f"SELECT tenant, id, NULL FROM conversation WHERE deleted_at <= ? AND {COMPLETE} LIMIT 1"
OLDEST_TEMPORARY = """
    SELECT tenant, id, NULL FROM conversation
    WHERE temporary AND (updated_at <= ? OR deleted_at IS NOT NULL) LIMIT 1
"""
MARK_BATCH = 500
"""Maximum number of conversations that one transaction marks."""


class DeletionStore:
    """The deletions of a tenant. `remove_oldest` covers all tenants.

    Hiding and restoring take one transaction each. A removal takes many, and a mark in the first one makes it
    irrevocable.
    """

    def __init__(self, database: Database, tenant: str) -> None:
        self._database = database
        self._tenant = tenant

    async def hide_conversation(self, conversation_id: str, expected: Versions = None) -> None:
        """Hide a conversation, which can then be restored. Raise NotFoundError, VersionMismatchError."""
        await self._database.write(lambda connection: self._hide(connection, conversation_id, expected))

    async def hide_conversations(self, ids: Sequence[str]) -> list[str]:
        """Hide conversations in one transaction. Returns the ids of those that existed."""
        return await self._database.write(lambda connection: _done_for(ids, partial(self._hide, connection)))

    async def show_conversation(self, conversation_id: str) -> Conversation:
        """Restore a conversation. Does nothing if the conversation is not deleted.

        Raises:
            NotFoundError: the conversation never existed, is being removed or has been removed.
        """
        return await self._database.write(lambda connection: self._show(connection, conversation_id))

    async def show_conversations(self, ids: Sequence[str]) -> list[str]:
        """Restore conversations in one transaction. Returns the ids of those that were still there."""
        return await self._database.write(lambda connection: _done_for(ids, partial(self._show, connection)))

    async def hide_message(
        self, message_id: str, expected: Versions = None, *, alone: bool = False
    ) -> tuple[Conversation, list[str]]:
        """Hide a message and everything below it. Returns its conversation, and the ids of the runs of hidden answers.

        If the head is hidden, the newest leaf below the message's parent becomes the head.

        alone: hide the question of the message with its answers, and put copies in place of what follows. If the head
            follows, its copy becomes the head.

        Raise NotFoundError, VersionMismatchError; with `alone`, ConflictError and LimitReachedError, too.
        """

        def update(connection: DatabaseConnection) -> tuple[Conversation, list[str]]:
            message = _shown_message(connection, self._tenant, message_id)
            conversation = about_to_change(connection, self._tenant, message.conversation_id, expected)
            head = conversation.head_id
            if alone:
                message = turn_of(connection, self._tenant, message)
                head = copy_what_follows(connection, self._tenant, message).get(head or "", head)
            hide = HIDE_BRANCH.format(children=children_below(connection.dialect))
            hidden = connection.fetch_all(hide, (message.id, time.time(), message.id))
            runs = [row["run_id"] for row in hidden if row["run_id"] is not None]
            if connection.fetch_one("SELECT 1 FROM shown_message WHERE id = ?", (head,)) is None:
                head = newest_leaf(connection, conversation.id, message.parent_id)
            return move_head(connection, conversation, head), runs

        return await self._database.write(update)

    async def show_message(self, message_id: str) -> Conversation:
        """Restore a message and everything that was hidden with it, and show the path through it.

        Does nothing if the message is not hidden.

        Raises:
            NotFoundError: the message never existed or is removed, or its conversation was deleted.
            ConflictError: the message was hidden with one above it, or its parent was hidden after it.
        """

        def update(connection: DatabaseConnection) -> Conversation:
            row = connection.fetch_one(OWN_MESSAGE, (message_id, self._tenant))
            if row is None:
                raise no_message(message_id)
            message, deleted_with = message_of(row), row["deleted_with"]
            conversation = about_to_change(connection, self._tenant, message.conversation_id)
            if deleted_with is None:
                return conversation
            if connection.fetch_one("SELECT 1 FROM removal WHERE message_id = ?", (deleted_with,)) is not None:
                raise no_message(message_id)
            # A message that was hidden along with one above it has a hidden parent.
            if message.parent_id is not None:
                parent = "SELECT deleted_with FROM message WHERE id = ?"
                [[above]] = connection.fetch_all(parent, (message.parent_id,))
                if above is not None:
                    raise _deleted_above(above)
            connection.execute(
                "UPDATE message SET deleted_at = NULL, deleted_with = NULL WHERE deleted_with = ?", (message_id,)
            )
            leaf = newest_leaf(connection, conversation.id, message_id)
            return move_head(connection, conversation, leaf)

        return await self._database.write(update)

    async def remove_conversation(self, conversation_id: str, leaving: Leaving = without_kv) -> list[TokenNode]:
        """Remove a conversation for good, whether it is hidden or not, and return the tokens of its messages.

        Raise NotFoundError.
        """
        await self.mark_conversation(conversation_id)
        return await remove(self._database, Removal(self._tenant, conversation_id, None), leaving)

    async def mark_conversation(self, conversation_id: str) -> None:
        """Begin the removal of a conversation, whether it is hidden or not. Raise NotFoundError."""

        def begin(connection: DatabaseConnection) -> None:
            changed = connection.execute(
                "UPDATE conversation SET deleted_at = coalesce(deleted_at, ?) WHERE id = ? AND tenant = ?",
                (time.time(), conversation_id, self._tenant),
            )
            if not changed:
                raise no_conversation(conversation_id)
            mark(connection, Removal(self._tenant, conversation_id, None))

        await self._database.write(begin)

    async def mark_message(self, message_id: str) -> Conversation:
        """Begin the removal of a hidden message and all that was hidden with it. Raise NotFoundError."""

        def begin(connection: DatabaseConnection) -> Conversation:
            row = connection.fetch_one(f"{OWN_MESSAGE} AND deleted_with = message.id", (message_id, self._tenant))
            if row is None:
                raise no_message(message_id)
            mark(connection, Removal(self._tenant, row["conversation_id"], message_id))
            return about_to_change(connection, self._tenant, row["conversation_id"])

        return await self._database.write(begin)

    async def mark_deleted(self) -> int:
        """Begin the removal of all deleted conversations of the tenant, and return their number."""
        return len(await self._mark_all(RESTORABLE))

    async def remove_all(self) -> int:
        """Remove everything that the tenant stores for its chats. Return the number of conversations."""

        def clear(connection: DatabaseConnection) -> None:
            connection.execute("DELETE FROM draft WHERE tenant = ?", (self._tenant,))
            connection.execute("DELETE FROM folder WHERE tenant = ?", (self._tenant,))
            connection.execute("DELETE FROM share WHERE tenant = ?", (self._tenant,))
            connection.execute("DELETE FROM preset WHERE tenant = ?", (self._tenant,))
            connection.execute("DELETE FROM saved_prompt WHERE tenant = ?", (self._tenant,))
            connection.execute("DELETE FROM kept_file WHERE tenant = ?", (self._tenant,))
            connection.execute("DELETE FROM preference WHERE tenant = ?", (self._tenant,))

        await self._database.write(clear)
        while await hide_shown(self._database, self._tenant):
            pass
        marked = await self._mark_all(f"deleted_at IS NOT NULL AND {KEPT}")
        for conversation_id in marked:
            await remove(self._database, Removal(self._tenant, conversation_id, None))
        return len(marked)

    async def _mark_all(self, condition: str) -> list[str]:
        """Begin the removal of all hidden conversations of the tenant that meet an SQL condition. Return their ids.

        They are looked for once, since a look in each batch would pass over all that are left.
        """
        rows = await self._database.read(
            f"SELECT id FROM conversation WHERE tenant = ? AND {condition}", (self._tenant,), tenant=self._tenant
        )
        found, marked = [row["id"] for row in rows], list[str]()
        for start in range(0, len(found), MARK_BATCH):
            batch = found[start : start + MARK_BATCH]
            marked += await self._database.write(partial(mark_hidden, tenant=self._tenant, ids=batch))
        return marked

    def _hide(self, connection: DatabaseConnection, conversation_id: str, expected: Versions = None) -> None:
        about_to_change(connection, self._tenant, conversation_id, expected)
        connection.execute(
            "UPDATE conversation SET deleted_at = ?, version = version + 1 WHERE id = ?",
            (time.time(), conversation_id),
        )

    def _show(self, connection: DatabaseConnection, conversation_id: str) -> Conversation:
        connection.execute(
            "UPDATE conversation SET deleted_at = NULL, keeps_kv = TRUE, version = version + 1 "
            f"WHERE id = ? AND tenant = ? AND {RESTORABLE}",
            (conversation_id, self._tenant),
        )
        return about_to_change(connection, self._tenant, conversation_id)

    async def remove_oldest(self, until: float, leaving: Leaving = without_kv) -> Removed | None:
        """Remove the content of one deletion of any tenant for good.

        A removal that has begun comes first, then conversations and messages that were hidden at or before `until`.
        Returns None if there is nothing to remove.
        """

        def begin(connection: DatabaseConnection) -> Removal | None:
            if (begun := next_removal(connection)) is not None:
                return begun
            for sql in (OLDEST_CONVERSATION, OLDEST_BRANCH):
                if (row := connection.fetch_one(sql, (until,))) is not None:
                    mark(connection, removal := Removal(*row))
                    return removal
            return None

        return await self._removed(await self._database.write(begin), leaving)

    async def remove_temporary(self, until: float, leaving: Leaving = without_kv) -> Removed | None:
        """Remove a temporary conversation for good that was deleted, or last used at or before `until`.

        All tenants are covered. Returns None if there is none.
        """

        def begin(connection: DatabaseConnection) -> Removal | None:
            row = connection.fetch_one(OLDEST_TEMPORARY, (until,))
            return None if row is None else _begun(connection, Removal(*row))

        return await self._removed(await self._database.write(begin), leaving)

    async def _removed(self, removal: Removal | None, leaving: Leaving) -> Removed | None:
        if removal is None:
            return None
        return Removed(removal.tenant, await remove(self._database, removal, leaving))


def _done_for(ids: Iterable[str], act: Callable[[str], object]) -> list[str]:
    """Act on conversations one by one, and return the ids of those that were found."""
    found = list[str]()
    for conversation_id in ids:
        with suppress(NotFoundError):
            act(conversation_id)
            found.append(conversation_id)
    return found


def _begun(connection: DatabaseConnection, removal: Removal) -> Removal:
    """Hide a conversation and begin its removal."""
    connection.execute(
        "UPDATE conversation SET deleted_at = coalesce(deleted_at, ?) WHERE id = ?",
        (time.time(), removal.conversation_id),
    )
    mark(connection, removal)
    return removal


def _shown_message(connection: DatabaseConnection, tenant: str, message_id: str) -> Message:
    sql = "SELECT * FROM shown_message WHERE id = ? AND tenant = ?"
    row = connection.fetch_one(sql, (message_id, tenant))
    if row is None:
        raise no_message(message_id)
    return message_of(row)


def _deleted_above(message_id: str) -> ConflictError:
    return ConflictError(
        f"This message was deleted together with message {message_id}: restore that message instead",
        code="deleted_with_another",
    )
