"""Sums of the tokens of stored answers, which the database adds."""

import json
import time
from collections.abc import Sequence
from typing import Any

from app.domain.records import Message, new_id
from app.storage.connection import DatabaseConnection
from app.storage.rows import insert_message
from app.storage.store import Store

DAY = 86_400.0

# An import may have stored anything in place of counts.
ODD = [
    {},
    [],
    {"prompt_tokens": "5", "completion_tokens": True},
    {"prompt_tokens": -1, "completion_tokens": 2.5},
    {"prompt_tokens": 10**20, "completion_tokens": None},
    {"prompt_tokens": {"prompt_tokens": 3}, "prompt_tokens_details": 7},
    {"prompt_tokens_details": {"cached_tokens": [1]}, "note": "\0"},
]


def usage(prompt: int, cached: int, completion: int) -> dict[str, Any]:
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "prompt_tokens_details": {"cached_tokens": cached},
    }


async def answered(store: Store, title: str, usages: Sequence[Any], *, at: float) -> str:
    """Store a chat with an answer for each of `usages`, and return its id."""
    conversation = await store.conversations.create({"title": title})

    def insert(connection: DatabaseConnection) -> None:
        for each in usages:
            message = Message(
                id=new_id("msg"),
                conversation_id=conversation.id,
                parent_id=None,
                role="assistant",
                content="",
                status="complete",
                created_at=at,
                completed_at=at,
            )
            insert_message(connection, message)
            connection.execute("UPDATE message SET usage = ? WHERE id = ?", (json.dumps(each), message.id))

    await store.database.write(insert)
    return conversation.id


async def test_tokens_are_added_by_day_and_by_chat(store: Store) -> None:
    # Not near the end of a day.
    noon = (time.time() // DAY + 0.5) * DAY
    small = await answered(store, "small", [usage(10, 4, 5), usage(20, 8, 1)], at=noon)
    large = await answered(store, "large", [usage(100, 50, 7)], at=noon - DAY)
    odd = await answered(store, "odd", ODD, at=noon)
    await answered(store, "earlier", [usage(1000, 0, 1000)], at=noon - 9 * DAY)
    deleted = await answered(store, "deleted", [usage(1000, 0, 1000)], at=noon)
    await store.deletions.hide_conversation(deleted)
    read = await store.usage.read(2)
    assert [
        (day["answers"], day["prompt_tokens"], day["cached_tokens"], day["completion_tokens"]) for day in read["days"]
    ] == [
        (2 + len(ODD), 30, 12, 6),
        (1, 100, 50, 7),
    ]
    assert [day["day"] for day in read["days"]] == [
        time.strftime("%Y-%m-%d", time.gmtime(at)) for at in (noon, noon - DAY)
    ]
    assert [(chat["conversation_id"], chat["title"], chat["prompt_tokens"]) for chat in read["chats"]] == [
        (large, "large", 100),
        (small, "small", 30),
        (odd, "odd", 0),
    ]
