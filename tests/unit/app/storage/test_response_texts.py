"""Instructions, tools and forms of responses: a tenant stores each of them once, until no response has it."""

from dataclasses import replace
from typing import Any

import pytest

from app.domain.records import Conversation
from app.domain.response_record import ResponseRecord, response_id_of
from app.domain.token_history import pack_ids
from app.storage.connection import DatabaseConnection
from app.storage.former_chats import FormerChats
from app.storage.response_texts import MIN_CHARACTERS
from app.storage.run_records import MessageEnd, TurnRows
from app.storage.store import Store
from app.tenants.limits import TenantLimits
from tests.unit.stored_chats import imported, message, record

LONG = "é" * MIN_CHARACTERS
HEAD: dict[str, Any] = {
    "instructions": LONG,
    "tools": [{"name": "f", "description": LONG}],
    "tool_choice": {"type": "allowed_tools", "tools": [{"name": LONG}]},
    "text_format": {"type": "json_schema", "schema": {"description": LONG}},
}


def told(**fields: Any) -> ResponseRecord:
    return replace(
        ResponseRecord(
            model="m",
            background=False,
            instructions=None,
            previous_response_id=None,
            conversation_id=None,
            max_output_tokens=None,
            metadata={},
        ),
        **(HEAD | fields),
    )


async def responded(store: Store, response: ResponseRecord, chat: Conversation | None = None) -> str:
    """Store a complete answer that is a response, and return its id."""
    made = chat or await store.conversations.create({"source": "response"})
    question = message(made, "user", "one")
    answer = message(made, "assistant", "", question)
    await store.runs.begin(TurnRows(answer=answer, run=record(answer), questions=(question,), response=response))
    await store.runs.finish(
        MessageEnd(content="Yes.", status="complete", finish_reason="stop", token_ids=pack_ids([4])).of(answer)
    )
    return response_id_of(answer.id)


async def shared(store: Store) -> int:
    """Return the number of a tenant's texts, after a comparison of all its bytes with those that are counted."""
    texts = await store.database.read("SELECT text FROM response_text WHERE tenant = ?", (store.tenant,))
    sql = "SELECT nbytes FROM stored_size JOIN conversation ON conversation.id = conversation_id WHERE tenant = ?"
    stored = [row["nbytes"] for row in await store.database.read(sql, (store.tenant,))]
    stored += [256 + len(row["text"].encode()) for row in texts]
    assert (await store.limits.stored_bytes()).get(store.tenant, 0) == sum(stored)
    return len(texts)


async def test_texts_of_many_responses_are_stored_once(store: Store) -> None:
    ids = [await responded(store, told()) for _ in range(3)]
    assert await shared(store) == len(HEAD)
    changed = await responded(store, told(instructions=f"{LONG}!"))
    assert await shared(store) == len(HEAD) + 1
    assert [await store.responses.get(each) for each in ids] == [told()] * 3
    assert (await store.responses.get(changed)).instructions == f"{LONG}!"


async def test_texts_leave_with_the_last_response_that_has_them(store: Store) -> None:
    first, second = [await responded(store, told()) for _ in range(2)]
    await store.responses.delete(first)
    assert await shared(store) == len(HEAD)
    assert await store.responses.get(second) == told()
    await store.responses.remove_expired(1e12)
    assert await shared(store) == 0


async def test_texts_leave_with_conversation_tenant_or_message(store: Store) -> None:
    chat = await store.conversations.create({})
    await responded(store, told(), chat)
    await store.deletions.remove_conversation(chat.id)
    assert await shared(store) == 0
    await responded(store, told())
    await store.deletions.remove_all()
    assert await shared(store) == 0
    chat = await store.conversations.create({})
    answer = await responded(store, told(), chat)
    await store.deletions.hide_message((await store.messages.all_of(chat.id))[-1].id)
    assert await shared(store) == len(HEAD), answer
    await store.deletions.remove_oldest(1e12)
    assert await shared(store) == 0


async def test_tenants_share_no_texts(store: Store) -> None:
    bob = store.of("bob")
    for each in (store, bob):
        await responded(each, told())
        assert await shared(each) == len(HEAD)
    await bob.deletions.remove_all()
    assert [await shared(each) for each in (store, bob)] == [len(HEAD), 0]


async def test_equal_texts_of_two_fields_are_counted_apart(store: Store) -> None:
    response = told(instructions=f'"{LONG}"', tool_choice=LONG, tools=[], text_format={"type": "text"})
    deleted = await responded(store, response)
    assert await shared(store) == 2
    await store.responses.delete(deleted)
    assert await shared(store) == 0


async def test_short_texts_are_stored_with_their_response(store: Store) -> None:
    short = ResponseRecord(
        model="m",
        background=False,
        instructions="Be brief.",
        previous_response_id=None,
        conversation_id=None,
        max_output_tokens=None,
        metadata={},
        tools=[{"name": "f"}],
    )
    assert await store.responses.get(await responded(store, short)) == short
    assert await shared(store) == 0


async def test_response_from_before_has_its_texts(store: Store) -> None:
    old = await responded(store, told())

    def write(connection: DatabaseConnection) -> None:
        connection.execute("UPDATE response SET instructions = 'Rhyme.', instructions_number = NULL")

    await store.database.write(write)
    found = await store.responses.get(old)
    assert (found.instructions, found.tools) == ("Rhyme.", HEAD["tools"])


async def test_new_owner_of_a_chat_owns_its_texts(store: Store) -> None:
    chat = await store.conversations.create({})
    moved, stays = await responded(store, told(), chat), await responded(store, told())
    assert await FormerChats(store.database).give_to("bob") == 1
    bob = store.of("bob")
    assert [await shared(each) for each in (store, bob)] == [len(HEAD)] * 2
    assert await bob.responses.get(moved) == told()
    await store.responses.delete(stays)
    assert [await shared(each) for each in (store, bob)] == [0, len(HEAD)]


async def test_imported_responses_share_their_texts(store: Store) -> None:
    chats = [imported(f"conv_{number}", ["one", "two"]) for number in range(2)]
    chats = [replace(each, responses={each.messages[1].id: told()}) for each in chats]
    await store.imports.add(chats, duplicates=False)
    assert await shared(store) == len(HEAD)
    assert await store.responses.all_of(chats[1].conversation.id) == {chats[1].messages[1].id: told()}


async def test_texts_count_towards_the_limit(store: Store) -> None:
    await responded(store, told())
    stored = (await store.limits.stored_bytes())[store.tenant]
    assert stored > len(HEAD) * len(LONG.encode())
    await store.limits.set(store.tenant, TenantLimits(stored_bytes=stored))
    with pytest.raises(Exception, match="Storage limit reached"):
        await responded(store, told())
