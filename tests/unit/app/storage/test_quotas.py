"""Limits on what a tenant stores: bytes, and messages of a conversation."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.records import Message, new_id
from app.domain.response_record import ResponseRecord
from app.storage.connection import DatabaseConnection
from app.storage.items import NewItem
from app.storage.rows import insert_messages
from app.storage.run_records import MessageEnd, TurnRows
from app.storage.store import Store
from app.tenants.limits import LimitReachedError, TenantLimits
from engine.api.errors import InvalidRequestError
from tests.unit.stored_chats import answered, imported, message, record, turn


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    store = await Store.open(tmp_path / "conversations.db")
    yield store
    await store.close()


def answer_to(question: Message) -> Message:
    """Build a child of a question, with the same text."""
    return replace(question, id=new_id("msg"), parent_id=question.id)


async def check(store: Store) -> int:
    """Return the bytes that the tenant stores, after a comparison with a count of all rows."""
    [row] = await store.database.read(
        "SELECT coalesce(sum(nbytes), 0) AS counted FROM stored_size JOIN conversation "
        "ON conversation.id = conversation_id WHERE tenant = ?",
        (store.tenant,),
    )
    stored = (await store.limits.stored_bytes()).get(store.tenant, 0)
    assert stored == row["counted"]
    return stored


async def test_stored_bytes_follow_every_change(store: Store) -> None:
    assert await check(store) == 0
    conversation = await store.conversations.create({"title": "Tides", "system_prompt": "é" * 100})
    assert await check(store) == 256 + 5 + 200 + 2 + 2
    question, answer = await answered(store, conversation, "one", answer="Yes. " * 50)
    other, _ = await answered(store, conversation, "two", answer)
    await store.conversations.change(conversation.id, {"system_prompt": None, "metadata": {"a": "b"}})
    await check(store)
    before = await check(store)
    await store.conversations.change(conversation.id, {"tags": ("tides", "é")})
    assert await check(store) == before + len('["tides", "é"]'.encode())
    before = await check(store)
    await store.ratings.rate(answer.id, "bad", "Trop long, désolé.")
    assert await check(store) == before + len("Trop long, désolé.".encode())
    await store.ratings.rate(answer.id, None, None)
    assert await check(store) == before
    await store.ratings.rate(answer.id, "good", "é")
    merging = message(conversation, "assistant", "", question)
    before = await check(store)
    await store.runs.begin(TurnRows(answer=merging, run=record(merging)))
    with_path = await check(store) - before
    again = message(conversation, "assistant", "", question)
    await store.runs.begin(TurnRows(answer=again, run=record(again), own_prompt=b"\0" * 400))
    assert await check(store) == before + 2 * with_path + 256 + 400
    for each in (merging, again):
        await store.runs.finish(
            MessageEnd(content="Yes.", status="complete", finish_reason="stop", token_ids=b"").of(each)
        )
    await store.tree.fork(conversation.id, again.id)
    await check(store)
    await store.deletions.hide_message(again.id)
    await store.deletions.remove_oldest(1e12)
    await check(store)
    fork = await store.tree.fork(conversation.id, answer.id)
    before = await check(store)
    await store.deletions.hide_message(other.id)
    assert await check(store) == before, "deleted messages count until they are removed"
    await store.deletions.remove_oldest(1e12)
    assert await check(store) < before
    responded = message(fork, "assistant", "", None)
    asked = message(fork, "user", "three")
    told = ResponseRecord(
        model="m",
        background=False,
        instructions="instructions",
        previous_response_id=None,
        conversation_id=None,
        max_output_tokens=None,
        metadata={},
        tools=[{"name": "f"}],
    )
    responded = replace(responded, parent_id=asked.id)
    await store.runs.begin(TurnRows(answer=responded, run=record(responded), questions=(asked,), response=told))
    await store.runs.finish(
        MessageEnd(content="ø", status="complete", finish_reason="stop", token_ids=b"1234", reasoning="hm").of(
            responded
        )
    )
    await check(store)
    await store.deletions.remove_conversation(fork.id)
    await check(store)
    await store.items.remove(conversation.id, question.id)
    await check(store)
    await store.imports.add([imported("conv_1", ["tide"] * 300, title="Tides")], duplicates=False)
    await check(store)
    await store.deletions.remove_all()
    assert await check(store) == 0


async def test_messages_of_several_tenants_are_counted_together(store: Store) -> None:
    bob = store.of("bob")
    chats = [await each.conversations.create({}) for each in (store, store, bob)]
    uncounted = await store.conversations.create({})
    before = await check(store), await check(bob)

    def write(connection: DatabaseConnection) -> None:
        connection.execute("UPDATE conversation SET counted = FALSE WHERE id = ?", (uncounted.id,))
        asked = [message(chat, "user", "é" * number) for chat in (*chats, uncounted) for number in range(3)]
        insert_messages(connection, [each for asked_of in asked for each in (asked_of, answer_to(asked_of))])

    await store.database.write(write)
    stored = await store.limits.stored_bytes()
    question_and_answer = [2 * (256 + number * len("é".encode()) + 4 * 3) for number in range(3)]
    grown = sum(question_and_answer)
    assert (stored[store.tenant] - before[0], stored["bob"] - before[1]) == (2 * grown, grown)


async def test_bytes_beyond_the_limit_are_refused(store: Store) -> None:
    conversation = await store.conversations.create({"source": "api"})
    await store.limits.set(store.tenant, TenantLimits(stored_bytes=10_000))
    large = "x" * 10_000
    for attempt in (
        lambda: store.items.add(conversation.id, [NewItem("user", large)]),
        lambda: turn(store, conversation, large),
        lambda: store.imports.add([imported("conv_1", [large])], duplicates=False),
        lambda: store.conversations.create({"system_prompt": large}),
        lambda: store.conversations.change(conversation.id, {"system_prompt": large}),
    ):
        before = await store.messages.all_of(conversation.id)
        with pytest.raises(LimitReachedError, match="Storage limit reached") as caught:
            await attempt()
        assert (caught.value.code, caught.value.status) == ("stored_bytes_limit", 429)
        assert await store.messages.all_of(conversation.id) == before
    assert len((await store.conversations.get(conversation.id)).system_prompt or "") == 0
    bob = store.of("bob")
    await bob.conversations.create({"system_prompt": large})
    while await store.deletions.remove_oldest(0.0):
        pass
    await turn(store, conversation, "small")


async def test_answer_that_has_begun_may_exceed_the_limit(store: Store) -> None:
    conversation = await store.conversations.create({})
    _, answer = await turn(store, conversation, "one")
    await store.limits.set(store.tenant, TenantLimits(stored_bytes=1))
    await store.runs.finish(
        MessageEnd(content="Yes.", status="complete", finish_reason="stop", token_ids=b"").of(answer)
    )
    assert (await store.messages.get(answer.id)).content == "Yes."


async def test_messages_beyond_the_limit_are_refused(store: Store) -> None:
    conversation = await store.conversations.create({"source": "api"})
    await store.limits.set(store.tenant, TenantLimits(items_per_conversation=3))
    await store.items.add(conversation.id, [NewItem("user", "one")])
    with pytest.raises(LimitReachedError, match="may have 3 messages") as caught:
        await store.items.add(conversation.id, [NewItem("user", str(index)) for index in range(3)])
    assert caught.value.code == "items_per_conversation_limit"
    with pytest.raises(LimitReachedError):
        await store.imports.add([imported("conv_1", ["tide"] * 4)], duplicates=False)
    assert len(await store.messages.all_of(conversation.id)) == 1
    await store.imports.add([imported("conv_2", ["tide"] * 3)], duplicates=False)


async def test_conversations_from_before_are_counted_later(tmp_path: Path) -> None:
    path = tmp_path / "conversations.db"
    store = await Store.open(path)
    await store.imports.add([imported(f"conv_{index}", ["tide"] * 5) for index in range(50)], duplicates=False)
    expected = await check(store)

    def forget(connection: DatabaseConnection) -> None:
        connection.execute("UPDATE conversation SET counted = FALSE")
        connection.execute("DELETE FROM tenant_usage")

    await store.database.write(forget)
    while await store.upkeep.count_some():
        pass
    assert await check(store) == expected
    await store.close()


async def test_reservations_of_one_moment_fit_together(store: Store) -> None:
    wanted = (store.limits.set(name, TenantLimits(kv_reserved=60), reservable=100) for name in ("alice", "bob"))
    made = await asyncio.gather(*wanted, return_exceptions=True)
    assert sum(isinstance(each, InvalidRequestError) for each in made) == 1
    assert sum(limits.kv_reserved or 0 for limits in (await store.limits.all()).values()) == 60
