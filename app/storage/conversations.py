"""The store of a tenant's conversations."""

import json
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from app.domain.bounds import MAX_TAGS
from app.domain.records import Conversation, new_id
from app.domain.titles import title_from
from app.storage.connection import DatabaseConnection
from app.storage.database import Database
from app.storage.errors import DuplicateError
from app.storage.folders import check_folder, folder_tree
from app.storage.limits import check_size
from app.storage.list_filter import CHATS, ListFilter
from app.storage.rows import conversation_of, dump, dump_tags, insert_conversation, no_conversation
from app.storage.server_clock import act_at
from app.storage.versions import Versions, about_to_change
from engine.api.errors import ConflictError, InvalidRequestError, NotFoundError

CHANGEABLE = ("title", "system_prompt", "params", "pinned", "archived", "metadata", "folder_id", "tags", "temporary")
MARKS = {"title", "pinned", "archived", "metadata", "folder_id", "tags", "temporary"}
"""Fields whose change does not count as using the conversation: `updated_at` stays the same."""

PINNED: Final = "pinned"
"""Topic of notices that a conversation was pinned or unpinned: server, tenant, conversation and mark as JSON."""

ListPosition = tuple[bool, float, str]
"""Position in the list: pinned, updated_at, id. The list is in descending order."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the list.

    following: place after which the next page begins; None on the last page.
    total: number of conversations in the whole list; None unless the page has an offset.
    """

    conversations: list[Conversation]
    following: ListPosition | None
    total: int | None = None


class ConversationStore:
    """The conversations of a tenant.

    Each method is one transaction or one read. Once a method has returned, its effect survives a crash of the process.
    """

    def __init__(self, database: Database, tenant: str) -> None:
        self._database = database
        self._tenant = tenant

    async def create(
        self, given: Mapping[str, Any], first_message: str | None = None, conversation_id: str | None = None
    ) -> Conversation:
        """Create an empty conversation.

        given: the source, and any of the fields in CHANGEABLE. Without a system prompt, the folder's applies.
        first_message: the beginning of the message that will follow, which gives a title if `given` has none.
        conversation_id: its id; None for a new one. Repeating the call with the same arguments changes nothing.

        Raises:
            InvalidRequestError: there is no such folder.
            ConflictError: another conversation has the id, or the one that this call created has changed since.
            LimitReachedError: the tenant's limit on conversations or stored bytes is reached.
        """
        now = time.time()
        source = given.get("source", "chat")
        empty = Conversation(
            id=conversation_id or new_id("conv"),
            title=None,
            head_id=None,
            system_prompt=None,
            params={},
            created_at=now,
            updated_at=now,
            source=source,
        )
        conversation = _changed(empty, given)
        if conversation.title is None and (title := title_from(first_message or "")):
            conversation = replace(conversation, title=title, title_source="first_message")

        def insert(connection: DatabaseConnection) -> Conversation:
            check_folder(connection, self._tenant, conversation.folder_id)
            made = replace(conversation, updated_at=act_at(connection, now))
            if "system_prompt" not in given and made.folder_id is not None:
                prompt = folder_tree(connection, self._tenant).system_prompt(made.folder_id)
                made = replace(made, system_prompt=prompt)
            found = self._found(connection, conversation_id) if conversation_id is not None else None
            if found is not None and found == replace(made, created_at=found.created_at, updated_at=found.updated_at):
                return found
            insert_conversation(connection, self._tenant, made)
            return made

        try:
            return await self._database.write(insert)
        except DuplicateError:
            raise ConflictError(
                f"Another conversation with the id {conversation_id} already exists, or this one has changed since it "
                "was created",
                param="id",
                code="conversation_exists",
            ) from None

    def _found(self, connection: DatabaseConnection, conversation_id: str) -> Conversation | None:
        sql = "SELECT * FROM shown_conversation WHERE id = ? AND tenant = ?"
        row = connection.fetch_one(sql, (conversation_id, self._tenant))
        return conversation_of(row) if row is not None else None

    async def page(
        self,
        wanted: ListFilter = CHATS,
        *,
        limit: int = 100,
        after: ListPosition | None = None,
        offset: int | None = None,
    ) -> Page:
        """Return a page of a list: pinned ones first, then the most recent.

        after: the place after which the page begins; None for the first page.
        offset: number of conversations ahead of a page whose place is not known.
        """
        listed, values = wanted.of(self._tenant, self._database.dialect)
        beyond = "" if after is None else "AND (pinned, updated_at, id) < (?, ?, ?)"

        def read(connection: DatabaseConnection) -> Page:
            rows = connection.fetch_all(
                f"SELECT * {listed} {beyond} ORDER BY pinned DESC, updated_at DESC, id DESC LIMIT ? OFFSET ?",
                (*values, *(after or ()), limit + 1, offset or 0),
            )
            found = [conversation_of(row) for row in rows[:limit]]
            last = found[-1] if len(rows) > limit else None
            following = (last.pinned, last.updated_at, last.id) if last is not None else None
            if offset is None:
                return Page(found, following, None)
            [[total]] = connection.fetch_all(f"SELECT count(*) {listed}", values)
            return Page(found, following, total)

        return await self._database.read_together(read, tenant=self._tenant)

    async def each(self, after: str = "") -> AsyncIterator[tuple[Conversation, str]]:
        """Yield all conversations, except temporary ones, in the order of their ids, each with its id in exports.

        A conversation that is changed during the iteration may be yielded before or after the change.

        after: id of the last conversation seen.
        """
        seen = after
        while rows := await self._database.read(
            "SELECT *, coalesce(origin, id) AS export_id FROM shown_conversation "
            "WHERE tenant = ? AND id > ? AND NOT temporary ORDER BY id LIMIT 100",
            (self._tenant, seen),
            tenant=self._tenant,
        ):
            for row in rows:
                seen = row["id"]
                yield conversation_of(row), row["export_id"]

    async def get(self, conversation_id: str) -> Conversation:
        """Return a conversation. Raise NotFoundError."""
        rows = await self._database.read(
            "SELECT * FROM shown_conversation WHERE id = ? AND tenant = ?",
            (conversation_id, self._tenant),
            tenant=self._tenant,
        )
        if not rows:
            raise no_conversation(conversation_id)
        return conversation_of(rows[0])

    async def pinned_ids(self) -> list[str]:
        """Return the ids of the pinned conversations, archived ones included."""
        rows = await self._database.read(
            "SELECT id FROM shown_conversation WHERE tenant = ? AND pinned ORDER BY id", (self._tenant,)
        )
        return [row["id"] for row in rows]

    async def recent(self, most: int) -> list[Conversation]:
        """Return the chats that were used last, the newest one first."""
        rows = await self._database.read(
            "SELECT * FROM shown_conversation WHERE tenant = ? AND source = 'chat' ORDER BY updated_at DESC LIMIT ?",
            (self._tenant, most),
        )
        return [conversation_of(row) for row in rows]

    async def export_id(self, conversation_id: str) -> str:
        """Return a conversation's id in exports: the one that it was imported under, or else its own.

        Raise NotFoundError.
        """
        rows = await self._database.read(
            "SELECT coalesce(origin, id) AS export_id FROM shown_conversation WHERE id = ? AND tenant = ?",
            (conversation_id, self._tenant),
            tenant=self._tenant,
        )
        if not rows:
            raise no_conversation(conversation_id)
        return str(rows[0]["export_id"])

    async def change(self, conversation_id: str, given: Mapping[str, Any], expected: Versions = None) -> Conversation:
        """Set the given fields of CHANGEABLE.

        Raise NotFoundError, VersionMismatchError, LimitReachedError, and InvalidRequestError for an unknown folder or
        for a conversation that is to become temporary.
        """

        def update(connection: DatabaseConnection) -> Conversation:
            before = about_to_change(connection, self._tenant, conversation_id, expected)
            after = self._updated(connection, before, given)
            check_size(connection, self._tenant)
            return after

        return await self._database.write(update)

    async def change_many(
        self, ids: Sequence[str], given: Mapping[str, Any], tags_of: Callable[[tuple[str, ...]], tuple[str, ...]]
    ) -> list[str]:
        """Set the given fields of several conversations, and their tags to `tags_of` those that each has.

        Returns the ids of those that exist. Raise LimitReachedError, and InvalidRequestError for an unknown folder or
        too many tags; nothing is changed then.
        """

        def update(connection: DatabaseConnection) -> list[str]:
            changed = list[str]()
            for conversation_id in dict.fromkeys(ids):
                try:
                    before = about_to_change(connection, self._tenant, conversation_id)
                except NotFoundError:
                    continue
                tags = tags_of(before.tags)
                if len(tags) > MAX_TAGS:
                    raise InvalidRequestError(f"A conversation can have at most {MAX_TAGS} tags", param="add_tags")
                self._updated(connection, before, {**given, "tags": tags})
                changed.append(conversation_id)
            check_size(connection, self._tenant)
            return changed

        return await self._database.write(update)

    def _updated(self, connection: DatabaseConnection, before: Conversation, given: Mapping[str, Any]) -> Conversation:
        """Write the given fields of a conversation, and return how it is then."""
        after = _changed(before, given)
        if after == before:
            return before
        if after.temporary and not before.temporary:
            raise InvalidRequestError("Only a new conversation can be temporary", param="temporary")
        if after.folder_id != before.folder_id:
            check_folder(connection, self._tenant, after.folder_id)
        now = before.updated_at if given.keys() <= MARKS else act_at(connection, time.time())
        after = replace(after, version=before.version + 1, updated_at=now)
        connection.execute(
            "UPDATE conversation SET title = ?, title_source = ?, system_prompt = ?, params = ?, pinned = ?, "
            "archived = ?, metadata = ?, folder_id = ?, tags = ?, temporary = ?, version = ?, updated_at = ? "
            "WHERE id = ?",
            (
                after.title,
                after.title_source,
                after.system_prompt,
                dump(after.params),
                after.pinned,
                after.archived,
                dump(after.metadata),
                after.folder_id,
                dump_tags(after.tags),
                after.temporary,
                after.version,
                after.updated_at,
                after.id,
            ),
        )
        if after.pinned != before.pinned:
            notice = json.dumps([self._database.server, self._tenant, after.id, after.pinned])
            connection.notify(PINNED, notice)
        return after

    async def see(self, conversation_id: str) -> bool:
        """Note that the person has seen the answers of a conversation, and return whether one of them was unread.

        The version and the place in the list stay the same. Raise NotFoundError.
        """
        if not (await self.get(conversation_id)).unread:
            return False

        def update(connection: DatabaseConnection) -> bool:
            changed = connection.execute(
                "UPDATE conversation SET unread = FALSE WHERE id = ? AND tenant = ? AND unread AND deleted_at IS NULL",
                (conversation_id, self._tenant),
            )
            return changed > 0

        # A power cut may bring the mark back, which costs the person one look.
        return await self._database.write(update, durable=False)

    async def name_by_model(self, conversation_id: str, title: str) -> bool:
        """Set a title written by the model, and return whether it was set.

        Replaces only a title taken from the first message, in a conversation that is not deleted. The version stays the
        same, since no user acted.
        """

        def update(connection: DatabaseConnection) -> bool:
            changed = connection.execute(
                "UPDATE conversation SET title = ?, title_source = 'model' "
                "WHERE id = ? AND tenant = ? AND title_source = 'first_message' AND deleted_at IS NULL",
                (title, conversation_id, self._tenant),
            )
            return changed > 0

        return await self._database.write(update)


def _changed(conversation: Conversation, given: Mapping[str, Any]) -> Conversation:
    values = {name: given[name] for name in CHANGEABLE if name in given}
    if "title" in values:
        values["title_source"] = "user" if values["title"] is not None else None
    return replace(conversation, **values)
