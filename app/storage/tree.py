"""Branches of conversations: the siblings of messages, the path that is shown, and forks."""

import re
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.domain.bounds import MAX_TITLE_LENGTH
from app.domain.records import Conversation, Message, MessageStatus, Role, new_id
from app.domain.token_history import MessageTokens
from app.storage.answer_prompts import copy_answer_prompts
from app.storage.connection import DatabaseConnection
from app.storage.database import Database
from app.storage.errors import DuplicateError
from app.storage.messages import PATH_IDS_FROM, PATH_QUERY
from app.storage.other_tokens import copy_other_tokens
from app.storage.rows import (
    children_below,
    insert_conversation,
    insert_message,
    insert_messages,
    listed,
    message_of,
    no_message,
    shown_among,
)
from app.storage.server_clock import act_at
from app.storage.versions import Versions, about_to_change
from engine.api.errors import ConflictError, InvalidRequestError

NUMBERED = re.compile(r"(.*) \(([1-9][0-9]{0,5})\)", re.DOTALL)
"""Title of a fork, with its number."""

SAME_OF_FORKS = MAX_TITLE_LENGTH - len(" (999999)")
"""Characters of a title that no number of a fork replaces."""

PREVIEW_LENGTH = 120
"""Characters of a message's text in the outline."""

EDITED = "edited"
"""Finish reason of an answer whose text a user has edited."""

SHOWN_MESSAGE = "SELECT * FROM shown_message WHERE id = ? AND tenant = ?"
PLACE_OF_MESSAGE = "SELECT conversation_id FROM shown_message WHERE id = ? AND tenant = ?"
TWINS_QUERY = """
    SELECT 1 FROM (
      SELECT parent_id FROM message WHERE conversation_id = :conversation GROUP BY parent_id HAVING count(*) > 1
    ) AS twins
    WHERE (
      SELECT count(*) FROM shown_message
      WHERE conversation_id = :conversation AND tenant = :tenant AND parent_id {same} twins.parent_id) > 1
    LIMIT 1
"""
"""Whether several messages follow one. Without any, the index of the tree suffices."""
NEWEST_LEAF_QUERY = """
    WITH RECURSIVE below(id, created_at) AS (
      SELECT id, created_at FROM message WHERE conversation_id = ? AND parent_id {same} ? AND deleted_at IS NULL
      UNION ALL
      SELECT message.id, message.created_at FROM below {children}
      WHERE message.deleted_at IS NULL)
    SELECT id FROM below
    WHERE NOT EXISTS (SELECT 1 FROM message WHERE parent_id = below.id AND deleted_at IS NULL)
    ORDER BY created_at DESC, id DESC LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class Outline:
    """A message with only the beginning of its text."""

    id: str
    parent_id: str | None
    role: Role
    status: MessageStatus
    preview: str
    created_at: float


class TreeStore:
    """The message trees of a tenant. Every method is one transaction or one read."""

    def __init__(self, database: Database, tenant: str) -> None:
        self._database = database
        self._tenant = tenant

    async def outline(self, ids: Sequence[str]) -> list[Outline]:
        """Return the outline of these messages, oldest first, without those that are not there."""
        return await self._database.read_as(
            lambda row: Outline(**dict(row)),
            "SELECT shown_message.id, parent_id, role, status, substr(content, 1, ?) AS preview, created_at "
            f"FROM {shown_among(self._database.dialect)} WHERE tenant = ? ORDER BY created_at, shown_message.id",
            (PREVIEW_LENGTH, listed(ids), self._tenant),
            tenant=self._tenant,
        )

    async def siblings(self, conversation_id: str, parent_ids: Sequence[str | None]) -> dict[str | None, list[str]]:
        """Return the ids of the children of each of these messages, oldest first.

        The key None holds the roots of the conversation.
        """
        named = [each for each in parent_ids if each is not None]
        conditions = [f"parent_id IN ({', '.join('?' * len(named))})"] if named else []
        conditions += ["parent_id IS NULL"] if None in parent_ids else []
        found: defaultdict[str | None, list[str]] = defaultdict(list)
        for condition in conditions:
            rows = await self._database.read(
                "SELECT id, parent_id FROM shown_message WHERE conversation_id = ? AND tenant = ? "
                f"AND {condition} ORDER BY created_at, id",
                (conversation_id, self._tenant, *(named if "?" in condition else ())),
                tenant=self._tenant,
            )
            for row in rows:
                found[row["parent_id"]].append(row["id"])
        return found

    async def branches(self, conversation_id: str) -> bool:
        """Return whether a message of the conversation has siblings."""
        twins = TWINS_QUERY.format(same=self._database.dialect.same)
        place = {"conversation": conversation_id, "tenant": self._tenant}
        return bool(await self._database.read(twins, place, tenant=self._tenant))

    async def show(self, conversation_id: str, message_id: str, expected: Versions = None) -> Conversation:
        """Make the newest leaf below a message the head, unless the path to the head has the message.

        Raise NotFoundError, VersionMismatchError.
        """

        def update(connection: DatabaseConnection) -> Conversation:
            conversation = about_to_change(connection, self._tenant, conversation_id, expected)
            row = connection.fetch_one(PLACE_OF_MESSAGE, (message_id, self._tenant))
            if row is None or row["conversation_id"] != conversation_id:
                raise no_message(message_id)
            way = {"end": conversation.head_id, "tenant": self._tenant, "since": message_id, "most": 1}
            first = connection.fetch_one(PATH_IDS_FROM, way)
            if first is not None and first["id"] == message_id:
                return conversation
            return move_head(connection, conversation, newest_leaf(connection, conversation_id, message_id))

        return await self._database.write(update)

    async def edit(self, message_id: str, edited_id: str, content: str, expected: Versions = None) -> Conversation:
        """Store an edited answer as a sibling of the answer `message_id`, and make it the head.

        edited_id: id of the new message. Repeating the call with the same arguments changes nothing.

        Raises:
            NotFoundError: there is no such message.
            InvalidRequestError: the message is not an answer in plain text.
            ConflictError: the answer is still being generated, or another message has the id.
            VersionMismatchError: the conversation is not at the `expected` version.
            LimitReachedError: the tenant's limit on messages of a conversation or stored bytes is reached.
        """

        def insert(connection: DatabaseConnection) -> Conversation:
            row = connection.fetch_one(SHOWN_MESSAGE, (message_id, self._tenant))
            if row is None:
                raise no_message(message_id)
            edited = _edited(message_of(row), edited_id, content)
            taken = connection.fetch_one(SHOWN_MESSAGE, (edited_id, self._tenant))
            if taken is not None and _is_repeated(message_of(taken), edited):
                return about_to_change(connection, self._tenant, edited.conversation_id)
            conversation = about_to_change(connection, self._tenant, edited.conversation_id, expected)
            insert_message(connection, edited)
            return move_head(connection, conversation, edited.id)

        try:
            return await self._database.write(insert)
        except DuplicateError:
            raise ConflictError(
                f"Another message with the id {edited_id} already exists", param="id", code="message_exists"
            ) from None

    async def fork(self, conversation_id: str, message_id: str) -> Conversation:
        """Copy the path up to a message into a new conversation. The copies keep their exact token ids.

        Raises:
            NotFoundError: the message is not in this conversation.
            ConflictError: the message is still being generated.
            LimitReachedError: the tenant's limit on conversations, their messages or stored bytes is reached.
        """

        def copy(connection: DatabaseConnection) -> Conversation:
            source = about_to_change(connection, self._tenant, conversation_id)
            path = _path_within(connection, self._tenant, conversation_id, message_id)
            if path[-1].status == "in_progress":
                raise ConflictError("This answer is still being generated", code="run_in_progress")
            now = act_at(connection, time.time())
            title = _title_of_fork(connection, self._tenant, source.title) if source.title is not None else None
            made = replace(
                source,
                id=new_id("conv"),
                title=title,
                created_at=now,
                updated_at=now,
                pinned=False,
                archived=False,
                version=1,
            )
            copies = _copies(path, made.id)
            made = replace(made, head_id=copies[-1].id)
            insert_conversation(connection, self._tenant, made)
            insert_messages(connection, copies)
            pairs = [(each.id, copied.id) for each, copied in zip(path, copies, strict=True)]
            copy_other_tokens(connection, self._tenant, pairs)
            copy_answer_prompts(connection, self._tenant, pairs)
            return made

        return await self._database.write(copy)


def _title_of_fork(connection: DatabaseConnection, tenant: str, title: str) -> str:
    """Return a title with the next number that no other chat has: "Tides", "Tides (2)", "Tides (3)"."""
    numbered = NUMBERED.fullmatch(title)
    base, number = (numbered[1], int(numbered[2])) if numbered else (title, 1)
    same = base[:SAME_OF_FORKS]
    rows = connection.fetch_all(
        "SELECT title FROM shown_conversation WHERE tenant = ? AND substr(title, 1, ?) = ?", (tenant, len(same), same)
    )
    taken = {row["title"] for row in rows}
    while True:
        number += 1
        mark = f" ({number})"
        if (forked := base[: MAX_TITLE_LENGTH - len(mark)] + mark) not in taken:
            return forked


def _edited(answer: Message, edited_id: str, content: str) -> Message:
    if answer.role != "assistant":
        raise InvalidRequestError("Only an answer can be edited: ask an edited question with its parent_id", param="id")
    if answer.tool_use is not None:
        raise InvalidRequestError("An answer of a request with tools cannot be edited", param="id")
    if answer.status == "in_progress":
        raise ConflictError("This answer is still being generated", code="run_in_progress")
    now = time.time()
    return Message(
        id=edited_id,
        conversation_id=answer.conversation_id,
        parent_id=answer.parent_id,
        role="assistant",
        content=content,
        status="complete",
        created_at=now,
        completed_at=now,
        finish_reason=EDITED,
        tokens=MessageTokens(model=answer.tokens.model),
    )


def _is_repeated(stored: Message, edited: Message) -> bool:
    return (stored.parent_id, stored.content, stored.finish_reason) == (edited.parent_id, edited.content, EDITED)


def newest_leaf(connection: DatabaseConnection, conversation_id: str, above: str | None) -> str | None:
    """Find the newest leaf below `above`, or in the whole conversation if `above` is None.

    Returns `above` if no message is below it.
    """
    dialect = connection.dialect
    query = NEWEST_LEAF_QUERY.format(same=dialect.same, children=children_below(dialect))
    row = connection.fetch_one(query, (conversation_id, above))
    return row["id"] if row is not None else above


def move_head(connection: DatabaseConnection, conversation: Conversation, head_id: str | None) -> Conversation:
    """Move the head, inside the transaction of the caller.

    Moving the head is a user's action, so the version is raised. The conversation keeps its place in the list.
    """
    moved = replace(conversation, head_id=head_id, version=conversation.version + 1)
    connection.execute(
        "UPDATE conversation SET head_id = ?, version = ? WHERE id = ?", (head_id, moved.version, moved.id)
    )
    return moved


def _path_within(connection: DatabaseConnection, tenant: str, conversation_id: str, message_id: str) -> list[Message]:
    path = [message_of(row) for row in connection.fetch_all(PATH_QUERY, (message_id, tenant))]
    if not path or path[-1].conversation_id != conversation_id:
        raise no_message(message_id)
    return path


def _copies(path: list[Message], conversation_id: str) -> list[Message]:
    """Copy the messages of a path."""
    copies: list[Message] = []
    for message in path:
        above = copies[-1].id if copies else None
        copies.append(_copy(message, conversation_id, above))
    return copies


def _copy(message: Message, conversation_id: str, parent_id: str | None) -> Message:
    """Copy a message without its run, which has only one answer, and without its rating, which would count twice."""
    return replace(
        message,
        id=new_id("msg"),
        conversation_id=conversation_id,
        parent_id=parent_id,
        run_id=None,
        rating=None,
        rating_note=None,
    )
