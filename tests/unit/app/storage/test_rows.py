"""Messages, stored and read with every field."""

from collections.abc import AsyncIterator
from dataclasses import MISSING, Field, fields, replace
from pathlib import Path
from typing import Any

import pytest

from app.domain.records import Message, new_id
from app.domain.token_history import MessageTokens, pack_ids
from app.domain.tool_use import MayCall
from app.storage.run_records import MessageEnd, TurnRows
from app.storage.store import Store
from tests.unit.stored_chats import message, record


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    store = await Store.open(tmp_path / "conversations.db")
    yield store
    await store.close()


def default_of(field: Field[Any]) -> Any:
    """Return the default of a field; None for a field without one."""
    if field.default_factory is not MISSING:
        return field.default_factory()
    return None if field.default is MISSING else field.default


def assert_all_set(made: Message | MessageEnd) -> None:
    """Assert that no field has its default, so that a field that is not stored comes back changed.

    Token ids under further keys are stored apart from their message, once there are any.
    """
    unset = [each.name for each in fields(made) if getattr(made, each.name) == default_of(each)]
    assert [name for name in unset if name != "other_tokens"] == []


async def test_every_field_of_a_message_is_stored(store: Store) -> None:
    conversation = await store.conversations.create({})
    question = message(conversation, "user", "Sea?")
    answer = Message(
        id=new_id("msg"),
        conversation_id=conversation.id,
        parent_id=question.id,
        role="assistant",
        content="Salty.",
        status="incomplete",
        created_at=2.0,
        completed_at=3.0,
        finish_reason="length",
        error={"message": "full"},
        usage={"prompt_tokens": 3},
        run_id=new_id("run"),
        params={"temperature": 0.5},
        reasoning="Hm.",
        tokens=MessageTokens(pack_ids([7, 8]), "key", starts_prompt=True, model="ant"),
        tool_use=MayCall("hermes", parallel=True),
        left_out=2,
        summary="They spoke of tides.",
        rating="bad",
        rating_note="Too long.",
        merged=2,
    )
    assert_all_set(answer)
    await store.runs.begin(TurnRows(answer=answer, run=record(answer), questions=(question,)))
    assert await store.messages.get(answer.id) == answer


async def test_form_of_calls_is_stored_until_the_end_alone(store: Store) -> None:
    conversation = await store.conversations.create({})
    question = message(conversation, "user", "Sea?")
    params = {"seed": 1, "call_form": {"kind": "calls", "text": "start: "}, "call_openings": ["<tool_call>"]}
    answer = replace(message(conversation, "assistant", "", question), params=params)
    await store.runs.begin(TurnRows(answer=answer, run=record(answer), questions=(question,)))
    assert (await store.messages.get(answer.id)).params == params
    await store.runs.finish(
        MessageEnd(content="Salty.", status="complete", finish_reason="stop", token_ids=pack_ids([7])).of(answer)
    )
    assert (await store.messages.get(answer.id)).params == {"seed": 1}


async def test_every_field_of_an_answers_end_is_stored(store: Store) -> None:
    conversation = await store.conversations.create({})
    question = message(conversation, "user", "Sea?")
    answer = message(conversation, "assistant", "", question)
    await store.runs.begin(TurnRows(answer=answer, run=record(answer), questions=(question,)))
    end = MessageEnd(
        content="Salty.",
        status="failed",
        finish_reason="error",
        token_ids=pack_ids([7, 8]),
        usage={"prompt_tokens": 3},
        error={"message": "full"},
        reasoning="Hm.",
    )
    assert_all_set(end)
    ended = end.of(answer)
    await store.runs.finish(ended)
    assert await store.messages.get(answer.id) == ended
