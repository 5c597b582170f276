"""Messages that are added to a conversation, or removed from it, without generating an answer."""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from app.domain.answer_tokens import TokenNode
from app.domain.records import Message, Role, new_id
from app.domain.tool_use import ToolUse
from app.storage.answer_prompts import forget_answer_prompts
from app.storage.connection import DatabaseConnection, Row
from app.storage.database import Database
from app.storage.messages import PATH_QUERY
from app.storage.next_prefixes import forget_next_prefixes
from app.storage.removals import CONVERSATION_NODES, Leaving, disown, without_kv
from app.storage.rows import insert_message, no_conversation, node_of
from app.storage.server_clock import act_at
from engine.api.errors import ConflictError, NotFoundError


class NewItem(NamedTuple):
    """A message to add."""

    role: Role
    content: str
    tool_use: ToolUse | None = None


class ItemStore:
    """The items of a tenant's conversations.

    Each method is one transaction. Once a method has returned, its effect survives a crash of the process.
    """

    def __init__(self, database: Database, tenant: str) -> None:
        self._database = database
        self._tenant = tenant

    async def add(self, conversation_id: str, items: Sequence[NewItem]) -> list[Message]:
        """Append messages after the head and return them. They are tokenized with the next question.

        Raises:
            NotFoundError: the conversation does not exist.
            ConflictError: the head is still being generated.
            LimitReachedError: the tenant's limit on messages of a conversation or stored bytes is reached.
        """

        def insert(connection: DatabaseConnection) -> list[Message]:
            head = _head_of(connection, self._tenant, conversation_id)
            now, parent_id = time.time(), head["id"] if head is not None else None
            added: list[Message] = []
            for role, content, tool_use in items:
                made = Message(
                    id=new_id("msg"),
                    conversation_id=conversation_id,
                    parent_id=parent_id,
                    role=role,
                    content=content,
                    status="complete",
                    created_at=now,
                    completed_at=now,
                )
                added.append(replace(made, tool_use=tool_use))
                insert_message(connection, added[-1])
                parent_id = added[-1].id
            _move_head(connection, conversation_id, parent_id)
            return added

        return await self._database.write(insert)

    async def remove(self, conversation_id: str, message_id: str, leaving: Leaving = without_kv) -> list[TokenNode]:
        """Remove one message and attach its children to its parent.

        The messages below are rendered again for the next prompt. Returns the tokens that the conversation had. Raise
        as `add`, and NotFoundError if the message is not on the shown path.
        """

        def remove(connection: DatabaseConnection) -> list[TokenNode]:
            head = _head_of(connection, self._tenant, conversation_id)
            path = connection.fetch_all(PATH_QUERY, (head["id"], self._tenant)) if head is not None else []
            found = [row for row in path if row["id"] == message_id]
            if head is None or not found:
                raise NotFoundError(f"There is no item {message_id} in this conversation", code="item_not_found")
            # Converted here, off the event loop, since there may be many.
            nodes = [node_of(row) for row in connection.iterate(CONVERSATION_NODES, {"id": conversation_id})]
            forget_next_prefixes(connection, conversation_id)
            forget_answer_prompts(connection, conversation_id)
            parent_id = found[0]["parent_id"]
            disown(connection, message_id)
            connection.execute("UPDATE message SET parent_id = ? WHERE parent_id = ?", (parent_id, message_id))
            connection.execute("DELETE FROM message WHERE id = ?", (message_id,))
            _move_head(connection, conversation_id, parent_id if head["id"] == message_id else head["id"])
            return nodes

        nodes = await self._database.read_as(node_of, CONVERSATION_NODES, {"id": conversation_id}, tenant=self._tenant)
        async with leaving(nodes, self._tenant) as departure:
            try:
                departure.nodes = await self._database.write(remove)
            except NotFoundError:
                departure.nodes = []
                raise
        return list(departure.nodes)


def _head_of(connection: DatabaseConnection, tenant: str, conversation_id: str) -> Row | None:
    row = connection.fetch_one(
        "SELECT message.id, message.status FROM shown_conversation LEFT JOIN message ON message.id = head_id "
        "WHERE shown_conversation.id = ? AND tenant = ?",
        (conversation_id, tenant),
    )
    if row is None:
        raise no_conversation(conversation_id)
    if row["status"] == "in_progress":
        raise ConflictError("An answer in this conversation is still being generated", code="conversation_locked")
    return row if row["id"] is not None else None


def _move_head(connection: DatabaseConnection, conversation_id: str, message_id: str | None) -> None:
    at = act_at(connection, time.time())
    connection.execute(
        "UPDATE conversation SET head_id = ?, updated_at = ?, version = version + 1 WHERE id = ?",
        (message_id, at, conversation_id),
    )
