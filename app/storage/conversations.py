"""The list of conversations."""

import sqlite3
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from app.ids import new_id
from app.records import Conversation, ConversationSource
from app.storage.database import Database
from app.storage.limits import check_size
from app.storage.rows import conversation_of, dump, insert_conversation, no_conversation
from app.storage.server_clock import act_at
from app.storage.versions import Versions, about_to_change

CHANGEABLE = ("title", "system_prompt", "params", "pinned", "archived", "metadata")
MARKS = {"pinned", "archived", "metadata"}
"""They say nothing about when the conversation was last in use."""

Place = tuple[bool, float, str]
"""In the list: pinned, updated_at, id; in descending order."""


@dataclass(frozen=True, slots=True)
class Page:
    """A piece of the list. following: the place after which the next one begins; None at the end."""

    conversations: list[Conversation]
    following: Place | None


class ConversationStore:
    """Those of a tenant. Every method is one transaction or one read; once it has returned, its effect outlives the
    process."""

    def __init__(self, database: Database, tenant: str) -> None:
        self._database = database
        self._tenant = tenant

    async def create(self, given: Mapping[str, Any]) -> Conversation:
        """A new, empty conversation. Raises LimitReachedError."""
        now = time.time()
        source = given.get("source", "chat")
        empty = Conversation(new_id("conv"), None, None, None, {}, now, now, source=source)
        conversation = _changed(empty, given)

        def insert(connection: sqlite3.Connection) -> Conversation:
            made = replace(conversation, updated_at=act_at(connection, now))
            insert_conversation(connection, self._tenant, made)
            return made

        return await self._database.write(insert)

    async def page(
        self,
        *,
        archived: bool = False,
        limit: int = 100,
        after: Place | None = None,
        source: ConversationSource = "chat",
    ) -> Page:
        """Return a page of one source's conversations, archived or not: pinned ones first, then the newest.

        after: a place seen before.
        """
        condition, place = ("AND (pinned, updated_at, id) < (?, ?, ?)", after) if after is not None else ("", ())
        rows = await self._database.read(
            f"SELECT * FROM shown_conversation WHERE tenant = ? AND source = ? AND archived = ? {condition} "
            "ORDER BY pinned DESC, updated_at DESC, id DESC LIMIT ?",
            (self._tenant, source, archived, *place, limit + 1),
            tenant=self._tenant,
        )
        found = [conversation_of(row) for row in rows[:limit]]
        last = found[-1] if len(rows) > limit else None
        return Page(found, (last.pinned, last.updated_at, last.id) if last is not None else None)

    async def each(self, after: str = "") -> AsyncIterator[tuple[Conversation, str]]:
        """Yield all conversations in the order of their ids, each with its name in exports.

        A conversation that is changed while this runs may be as before or after. after: an id seen before.
        """
        seen = after
        while rows := await self._database.read(
            "SELECT *, coalesce(origin, id) AS export_id FROM shown_conversation "
            "WHERE tenant = ? AND id > ? ORDER BY id LIMIT 100",
            (self._tenant, seen),
            tenant=self._tenant,
        ):
            for row in rows:
                seen = row["id"]
                yield conversation_of(row), row["export_id"]

    async def get(self, conversation_id: str) -> Conversation:
        """Raises NotFoundError."""
        rows = await self._database.read(
            "SELECT * FROM shown_conversation WHERE id = ? AND tenant = ?",
            (conversation_id, self._tenant),
            tenant=self._tenant,
        )
        if not rows:
            raise no_conversation(conversation_id)
        return conversation_of(rows[0])

    async def export_id(self, conversation_id: str) -> str:
        """Its name in exports: its own, or that under which it was imported. Raises NotFoundError."""
        rows = await self._database.read(
            "SELECT coalesce(origin, id) AS export_id FROM shown_conversation WHERE id = ? AND tenant = ?",
            (conversation_id, self._tenant),
            tenant=self._tenant,
        )
        if not rows:
            raise no_conversation(conversation_id)
        return str(rows[0]["export_id"])

    async def count_by_tenant(self) -> dict[str, int]:
        """Of all tenants that have any; deleted ones do not count."""
        rows = await self._database.read("SELECT tenant, count(*) AS stored FROM shown_conversation GROUP BY tenant")
        return {row["tenant"]: row["stored"] for row in rows}

    async def change(self, conversation_id: str, given: Mapping[str, Any], expected: Versions = None) -> Conversation:
        """Set the given ones of CHANGEABLE. Raises NotFoundError, VersionMismatchError, LimitReachedError."""

        def update(connection: sqlite3.Connection) -> Conversation:
            before = about_to_change(connection, self._tenant, conversation_id, expected)
            after = _changed(before, given)
            if after == before:
                return before
            now = before.updated_at if given.keys() <= MARKS else act_at(connection, time.time())
            after = replace(after, version=before.version + 1, updated_at=now)
            connection.execute(
                "UPDATE conversation SET title = ?, title_source = ?, system_prompt = ?, params = ?, pinned = ?, "
                "archived = ?, metadata = ?, version = ?, updated_at = ? WHERE id = ?",
                (
                    after.title,
                    after.title_source,
                    after.system_prompt,
                    dump(after.params),
                    after.pinned,
                    after.archived,
                    dump(after.metadata),
                    after.version,
                    after.updated_at,
                    conversation_id,
                ),
            )
            check_size(connection, self._tenant)
            return after

        return await self._database.write(update)

    async def name_by_model(self, conversation_id: str, title: str) -> bool:
        """Whether the title was taken: only in place of one that is the first message's, and of a shown conversation.

        The version stays: no person did anything.
        """

        def update(connection: sqlite3.Connection) -> bool:
            cursor = connection.execute(
                "UPDATE conversation SET title = ?, title_source = 'model' "
                "WHERE id = ? AND tenant = ? AND title_source = 'first_message' AND deleted_at IS NULL",
                (title, conversation_id, self._tenant),
            )
            return cursor.rowcount > 0

        return await self._database.write(update)


def _changed(conversation: Conversation, given: Mapping[str, Any]) -> Conversation:
    values = {name: given[name] for name in CHANGEABLE if name in given}
    if "title" in values:
        values["title_source"] = "user" if values["title"] is not None else None
    return replace(conversation, **values)
