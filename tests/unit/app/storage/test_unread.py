"""Answers that the person has not seen: from their end until a page shows them, also after a restart."""

from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.token_history import pack_ids
from app.storage.run_records import MessageEnd
from app.storage.store import Store
from engine.api.errors import NotFoundError
from tests.unit.stored_chats import answered, imported, turn


async def unread(store: Store) -> list[str | None]:
    """List the titles of the unread chats."""
    return [each.title for each in (await store.conversations.page()).conversations if each.unread]


async def test_ended_answer_is_unread_until_it_is_seen(path: Path) -> None:
    store = await Store.open(path)
    tides, gulls = [await store.conversations.create({"title": title}) for title in ("Tides", "Gulls")]
    _, answer = await turn(store, tides, "one")
    assert await unread(store) == []
    await store.runs.finish(
        MessageEnd(content="Yes.", status="cancelled", finish_reason="abort", token_ids=pack_ids([7])).of(answer)
    )
    await answered(store, gulls, "two")
    await store.close()
    store = await Store.open(path)
    assert await unread(store) == ["Gulls", "Tides"]
    before = await store.conversations.get(tides.id)
    assert await store.conversations.see(tides.id)
    assert not await store.conversations.see(tides.id)
    # Neither the version nor the place in the list changes.
    assert await store.conversations.get(tides.id) == replace(before, unread=False)
    await store.close()
    store = await Store.open(path)
    assert await unread(store) == ["Gulls"]
    await store.close()


async def test_end_of_a_run_that_is_elsewhere_marks_nothing(store: Store) -> None:
    conversation = await store.conversations.create({})
    _, answer = await turn(store, conversation, "one")
    assert not await store.runs.finish(
        MessageEnd(content="Yes.", status="complete", finish_reason="stop", token_ids=b"").of(answer), epoch=1
    )
    assert await unread(store) == []


async def test_conversations_of_the_api_are_never_unread(store: Store) -> None:
    for source in ("api", "response"):
        conversation = await store.conversations.create({"source": source})
        await answered(store, conversation, "one")
        assert not (await store.conversations.get(conversation.id)).unread


async def test_restored_chat_is_as_unread_as_before(store: Store) -> None:
    conversation = await store.conversations.create({})
    await answered(store, conversation, "one")
    await store.deletions.hide_conversation(conversation.id)
    with pytest.raises(NotFoundError):
        await store.conversations.see(conversation.id)
    assert (await store.deletions.show_conversation(conversation.id)).unread


async def test_imported_chats_count_as_seen(store: Store) -> None:
    await store.imports.add([imported("conv_1", ["one", "Yes."])], duplicates=False)
    assert await unread(store) == []


async def test_another_tenant_cannot_mark_a_chat_as_seen(store: Store) -> None:
    conversation = await store.conversations.create({"title": "Tides"})
    await answered(store, conversation, "one")
    with pytest.raises(NotFoundError):
        await store.of("other").conversations.see(conversation.id)
    assert await unread(store) == ["Tides"]
