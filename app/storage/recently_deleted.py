"""Deleted conversations and messages that can still be restored."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from app.domain.records import Conversation, ConversationSource, Role
from app.storage.answer_prompts import forget_merging_prompts
from app.storage.connection import DatabaseConnection
from app.storage.database import Database
from app.storage.other_tokens import REMOVED_ABOVE
from app.storage.removals import (
    BRANCH_AND_ABOVE,
    CONVERSATION_NODES,
    Leaving,
    Removed,
    disown,
    without_kv,
)
from app.storage.rows import children_below, conversation_of, node_of, owned_among

HIDE_BATCH = 500
"""Maximum number of conversations that one transaction hides."""

# A removal that has begun cannot be undone. There may be as many of them as conversations, so each is looked up.
KEPT = (
    "NOT EXISTS (SELECT 1 FROM removal WHERE removal.conversation_id = conversation.id AND removal.message_id IS NULL)"
)
# An import in progress is hidden, but not deleted.
COMPLETE = "NOT EXISTS (SELECT 1 FROM staged WHERE staged.conversation_id = conversation.id)"
RESTORABLE = f"deleted_at IS NOT NULL AND {COMPLETE} AND {KEPT}"

BEGINNING_CHARACTERS = 200
"""Length of the text by which people recognize a deleted message."""

# A message whose parent is deleted as well can be restored only after that one. CROSS JOIN forces SQLite to start with
# the index of deleted messages.
DELETED_MESSAGES = """
    SELECT message.id, message.role, message.conversation_id, title, substr(message.content, 1, ?) AS beginning,
      message.deleted_at
    FROM message CROSS JOIN shown_conversation AS conversation
    LEFT JOIN message AS parent ON parent.id = message.parent_id
    WHERE message.deleted_with = message.id AND conversation.id = message.conversation_id AND tenant = ?
      AND NOT temporary AND parent.deleted_with IS NULL
      AND message.id NOT IN (SELECT message_id FROM removal WHERE message_id IS NOT NULL) {after}
    ORDER BY message.deleted_at DESC, message.id DESC LIMIT ?
"""

# A branch whose removal has begun loses its KV with it.
BRANCH_WITH_KV = """
    SELECT tenant, deleted_with FROM message JOIN conversation ON conversation.id = conversation_id
    WHERE deleted_with IS NOT NULL AND message.deleted_at <= ? AND prompt_key NOT IN ('', ?)
      AND deleted_with NOT IN (SELECT message_id FROM removal WHERE message_id IS NOT NULL)
    LIMIT 1
"""

DeletedPosition = tuple[float, str]
"""Position in the list: deleted_at, id. The list is in descending order."""


@dataclass(frozen=True, slots=True)
class DeletedConversation:
    """A deleted conversation and the time of its deletion."""

    conversation: Conversation
    deleted_at: float


@dataclass(frozen=True, slots=True)
class DeletedPage:
    """A page of the deleted conversations.

    following: place after which the next page begins; None on the last page.
    total: number of conversations in the whole list; None unless the page is the first.
    """

    deleted: list[DeletedConversation]
    following: DeletedPosition | None
    total: int | None


@dataclass(frozen=True, slots=True)
class DeletedMessage:
    """A message that was deleted with all that follow it, the title of its conversation, and the time of the deletion.

    beginning: start of its text.
    """

    id: str
    role: Role
    conversation_id: str
    title: str | None
    beginning: str
    deleted_at: float


@dataclass(frozen=True, slots=True)
class DeletedMessagePage:
    """A page of the deleted messages.

    following: place after which the next page begins; None on the last page.
    """

    deleted: list[DeletedMessage]
    following: DeletedPosition | None


class RecentlyDeletedStore:
    """The deleted conversations and messages of a tenant.

    `next_with_kv` and `next_branch_with_kv` cover all tenants.
    """

    def __init__(self, database: Database, tenant: str) -> None:
        self._database = database
        self._tenant = tenant

    async def page(self, *, limit: int = 100, after: DeletedPosition | None = None) -> DeletedPage:
        """Return a page of the deleted conversations of all sources, except temporary ones: the last
        deleted one first.

        after: the place after which the page begins; None for the first page.
        """
        condition, place = ("AND (deleted_at, id) < (?, ?)", after) if after is not None else ("", ())
        listed = f"FROM conversation WHERE tenant = ? AND NOT temporary AND {RESTORABLE}"
        rows = await self._database.read(
            f"SELECT * {listed} {condition} ORDER BY deleted_at DESC, id DESC LIMIT ?",
            (self._tenant, *place, limit + 1),
            tenant=self._tenant,
        )
        total = None
        if after is None:
            [[total]] = await self._database.read(f"SELECT count(*) {listed}", (self._tenant,), tenant=self._tenant)
        found = [DeletedConversation(conversation_of(row), row["deleted_at"]) for row in rows[:limit]]
        last = found[-1] if len(rows) > limit else None
        following = (last.deleted_at, last.conversation.id) if last is not None else None
        return DeletedPage(found, following, total)

    async def messages(self, *, limit: int, after: DeletedPosition | None = None) -> DeletedMessagePage:
        """Return a page of the deleted messages that can be restored, in conversations that are not deleted: the last
        deleted one first.

        after: the place after which the page begins; None for the first page.
        """
        condition, place = ("AND (message.deleted_at, message.id) < (?, ?)", after) if after is not None else ("", ())
        found = await self._database.read_as(
            lambda row: DeletedMessage(**dict(row)),
            DELETED_MESSAGES.format(after=condition),
            (BEGINNING_CHARACTERS, self._tenant, *place, limit + 1),
            tenant=self._tenant,
        )
        last = found[limit - 1] if len(found) > limit else None
        return DeletedMessagePage(found[:limit], (last.deleted_at, last.id) if last is not None else None)

    async def hide_all(self, source: ConversationSource) -> list[str]:
        """Delete all conversations of a source, archived ones too. They can be restored. Returns their ids."""
        return await hide_shown(self._database, self._tenant, source)

    async def next_with_kv(self, until: float, leaving: Leaving = without_kv) -> Removed | None:
        """Return the tokens of a conversation that was deleted at or before `until` and whose KV is to be erased.

        The conversation is returned once, without tokens if it was restored while they were read. Returns None if there
        is none.
        """
        due = f"{RESTORABLE} AND keeps_kv AND deleted_at <= ?"
        found = await self._database.read(f"SELECT tenant, id FROM conversation WHERE {due} LIMIT 1", (until,))
        if not found:
            return None
        [[tenant, conversation_id]] = found
        nodes = await self._database.read_as(node_of, CONVERSATION_NODES, {"id": conversation_id}, tenant=tenant)
        take = f"UPDATE conversation SET keeps_kv = FALSE WHERE id = ? AND {due}"
        async with leaving(nodes, tenant) as departure:
            if not await self._database.write(lambda connection: connection.execute(take, (conversation_id, until))):
                departure.nodes = []
        return Removed(tenant, list(departure.nodes))

    async def next_branch_with_kv(self, until: float, leaving: Leaving = without_kv) -> Removed | None:
        """Clear the tokens of a branch that was deleted at or before `until`, and return them with those above it.

        The branch is returned once, without tokens if it was restored while they were read. Returns None if there is
        none.
        """
        found = await self._database.read(BRANCH_WITH_KV, (until, REMOVED_ABOVE))
        if not found:
            return None
        [[tenant, message_id]] = found
        query = BRANCH_AND_ABOVE.format(children=children_below(self._database.dialect))
        nodes = await self._database.read_as(node_of, query, {"id": message_id}, tenant=tenant)
        async with leaving(nodes, tenant) as departure:
            if not await self._database.write(partial(_clear_branch, message_id=message_id)):
                departure.nodes = []
        return Removed(tenant, list(departure.nodes))


def _clear_branch(connection: DatabaseConnection, message_id: str) -> bool:
    """Clear all tokens of a deleted branch. Returns False if the branch is not deleted any more."""
    if connection.fetch_one("SELECT 1 FROM message WHERE id = ? AND deleted_with = id", (message_id,)) is None:
        return False
    forget_merging_prompts(connection, message_id)
    for table in ("next_prefix", "answer_prompt"):
        connection.execute(
            "WITH RECURSIVE below(id) AS (SELECT id FROM message WHERE id = ? "
            f"UNION ALL SELECT message.id FROM below {children_below(connection.dialect)}) "
            f"DELETE FROM {table} WHERE message_id IN (SELECT id FROM below)",
            (message_id,),
        )
    disown(connection, message_id)
    return True


async def hide_shown(database: Database, tenant: str, source: ConversationSource | None = None) -> list[str]:
    """Hide the shown conversations of a tenant, in batches, and return their ids.

    They are looked for once, since a look in each batch would pass over all that are hidden already.

    source: hides those of one source alone.
    """

    def hide(connection: DatabaseConnection, ids: Sequence[str]) -> list[str]:
        rows = connection.fetch_all(
            "UPDATE conversation SET deleted_at = ?, version = version + 1 "
            f"WHERE {owned_among(len(ids), 'deleted_at IS NULL')} RETURNING id",
            (time.time(), *ids, tenant),
        )
        return [row["id"] for row in rows]

    rows = await database.read(
        "SELECT id FROM shown_conversation WHERE tenant = :tenant AND source = coalesce(:source, source)",
        {"tenant": tenant, "source": source},
    )
    found, hidden = [row["id"] for row in rows], list[str]()
    for start in range(0, len(found), HIDE_BATCH):
        hidden += await database.write(partial(hide, ids=found[start : start + HIDE_BATCH]))
    return hidden
