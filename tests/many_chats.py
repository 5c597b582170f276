"""Many chats of a tenant, and one with many messages."""

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from app.domain.records import Conversation, Message, Role, new_id
from app.storage.connection import DatabaseConnection
from app.storage.rows import add_conversations, insert_messages
from app.storage.store import Store

USAGE = {
    "prompt_tokens": 100,
    "completion_tokens": 20,
    "total_tokens": 120,
    "prompt_tokens_details": {"cached_tokens": 40},
}


BATCH = 50
"""Chats that are written in one transaction."""
BATCH_MESSAGES = 500
"""Messages of a long chat that are written in one transaction."""


class ManyChats(NamedTuple):
    """Ids of what was written.

    long: a chat with many messages, whose ids are `messages`.
    """

    chats: list[str]
    long: str
    messages: list[str]


async def add_chats(store: Store, count: int) -> ManyChats:
    """Add `count` chats of two messages to the tenant of `store`, half as many deleted ones, and a long chat.

    Every tenth chat is archived, and of every fourth one the answer is deleted. The long one has `count` messages.
    """
    chats = [
        _chat(f"Chat {number}", ["Where is the tide?", f"At bay {number}."], archived=number % 10 == 9)
        for number in range(count)
    ]
    deleted = [_chat(f"Deleted {number}", ["What is a tide?", "It follows the moon."]) for number in range(count // 2)]
    deleted_ids, cut = {chat.id for chat, _ in deleted}, {chat.id for chat, _ in chats[::4]}

    def write(connection: DatabaseConnection, made: Sequence[tuple[Conversation, list[Message]]]) -> None:
        now = time.time()
        for conversation, messages in made:
            _write(connection, store.tenant, conversation, messages)
            if conversation.id in deleted_ids:
                connection.execute("UPDATE conversation SET deleted_at = ? WHERE id = ?", (now, conversation.id))
            if conversation.id in cut:
                connection.execute(
                    "UPDATE message SET deleted_at = ?, deleted_with = id WHERE id = ?", (now, messages[-1].id)
                )

    everything = [*chats, *deleted]
    for start in range(0, len(everything), BATCH):
        batch = everything[start : start + BATCH]
        await store.database.write(partial(write, made=batch))
    long, messages = await add_long_chat(store, count)
    return ManyChats([chat.id for chat, _ in chats], long, messages)


async def add_long_chat(store: Store, count: int) -> tuple[str, list[str]]:
    """Add a chat of `count` messages to the tenant of `store`. Return the ids of the chat and of its messages."""
    conversation, messages = _chat(
        "Long", [f"Message {number} of a long chat about the sea." for number in range(count)]
    )
    first, rest = messages[:BATCH_MESSAGES], messages[BATCH_MESSAGES:]
    await store.database.write(lambda connection: _write(connection, store.tenant, conversation, first))
    for start in range(0, len(rest), BATCH_MESSAGES):
        some = rest[start : start + BATCH_MESSAGES]
        await store.database.write(partial(_extend, conversation=conversation, messages=some))
    return conversation.id, [message.id for message in messages]


def _write(
    connection: DatabaseConnection, tenant: str, conversation: Conversation, messages: Sequence[Message]
) -> None:
    add_conversations(connection, tenant, [(replace(conversation, head_id=None), None)])
    _extend(connection, conversation, messages)


def _extend(connection: DatabaseConnection, conversation: Conversation, messages: Sequence[Message]) -> None:
    insert_messages(connection, messages)
    connection.execute("UPDATE conversation SET head_id = ? WHERE id = ?", (messages[-1].id, conversation.id))


def _chat(title: str, contents: list[str], *, archived: bool = False) -> tuple[Conversation, list[Message]]:
    now = time.time()
    conversation = Conversation(
        id=new_id("conv"),
        title=title,
        head_id=None,
        system_prompt=None,
        params={},
        created_at=now,
        updated_at=now,
        title_source="user",
        archived=archived,
    )
    messages = list[Message]()
    for number, content in enumerate(contents):
        role: Role = "assistant" if number % 2 else "user"
        above = messages[-1].id if messages else None
        usage = USAGE if role == "assistant" else None
        messages.append(
            Message(
                id=new_id("msg"),
                conversation_id=conversation.id,
                parent_id=above,
                role=role,
                content=content,
                status="complete",
                created_at=now,
                completed_at=now,
                usage=usage,
            )
        )
    return conversation, messages
