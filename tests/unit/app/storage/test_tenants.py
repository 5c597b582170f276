"""A store of one tenant does not see what another's holds, whatever it is asked."""

from collections.abc import AsyncIterator, Awaitable
from pathlib import Path

import pytest

from app.domain.records import Message
from app.storage.conversations import ListPosition
from app.storage.items import NewItem
from app.storage.run_records import TurnRows
from app.storage.store import Store
from engine.api.errors import NotFoundError
from tests.unit.stored_chats import answered, message, record


@pytest.fixture
async def alice(tmp_path: Path) -> AsyncIterator[Store]:
    store = (await Store.open(tmp_path / "conversations.db")).of("alice")
    yield store
    await store.close()


async def test_nothing_is_read_by_an_id_of_another_tenant(alice: Store) -> None:
    bob = alice.of("bob")
    conversation = await alice.conversations.create({"title": "Tides"})
    question, answer = await answered(alice, conversation, "hello")
    await alice.drafts.put(conversation.id, "typed")
    assert answer.run_id is not None
    absent: tuple[Awaitable[object], ...] = (
        bob.conversations.get(conversation.id),
        bob.conversations.export_id(conversation.id),
        bob.messages.get(question.id),
        bob.messages.of_run(answer.run_id),
        bob.responses.get("resp_" + answer.id.removeprefix("msg_")),
    )
    for reading in absent:
        with pytest.raises(NotFoundError):
            await reading
    assert await bob.messages.find(question.id) is None
    assert await bob.messages.first_answer(question.id) is None
    assert await bob.messages.path(answer.id) == await bob.messages.all_of(conversation.id) == []
    assert await bob.tree.outline([question.id]) == []
    assert await bob.tree.siblings(conversation.id, [None, question.id]) == {}
    assert await bob.messages.parts_of(conversation.id) == await bob.messages.parts_of_path(answer.id) == []
    assert await bob.messages.some([question.id, answer.id]) == []
    assert (await bob.drafts.get(conversation.id)).text == ""
    assert [each async for each in bob.conversations.each()] == []
    beyond: ListPosition = (True, 1e12, "z")
    assert (await bob.conversations.page(after=beyond)).conversations == []
    assert await bob.search.messages("hello", limit=5) == []
    assert await bob.search.titles("tides", limit=5) == []
    assert len(await alice.messages.path(answer.id)) == 2
    assert len(await alice.search.messages("hello", limit=5)) == 1


async def test_nothing_is_changed_by_an_id_of_another_tenant(alice: Store) -> None:
    bob = alice.of("bob")
    conversation = await alice.conversations.create({"title": "Tides"})
    question, answer = await answered(alice, conversation, "hello")
    hidden = await alice.conversations.create({})
    await alice.deletions.hide_conversation(hidden.id)
    mine = await bob.conversations.create({})

    async def begin(first: Message) -> None:
        asked = message(conversation, "assistant", "", first)
        await bob.runs.begin(TurnRows(answer=asked, run=record(asked)))

    async def rows() -> list[dict[str, object]]:
        sql = "SELECT * FROM conversation JOIN message ON message.conversation_id = conversation.id"
        return [dict(row) for row in await alice.database.read(sql)]

    before = await rows()
    refused: tuple[Awaitable[object], ...] = (
        bob.conversations.change(conversation.id, {"title": "Bob's"}),
        bob.deletions.hide_conversation(conversation.id),
        bob.deletions.show_conversation(hidden.id),
        bob.deletions.remove_conversation(conversation.id),
        bob.deletions.hide_message(question.id),
        bob.deletions.show_message(question.id),
        bob.tree.show(conversation.id, question.id),
        bob.tree.show(mine.id, question.id),
        bob.tree.fork(mine.id, question.id),
        bob.items.add(conversation.id, [NewItem("user", "hi")]),
        bob.items.remove(conversation.id, question.id),
        bob.drafts.put(conversation.id, "typed"),
        bob.responses.delete("resp_" + answer.id.removeprefix("msg_")),
        begin(question),
    )
    for change in refused:
        with pytest.raises(NotFoundError):
            await change
    assert not await bob.conversations.name_by_model(conversation.id, "Bob's")
    assert await bob.deletions.remove_all() == 1
    assert await rows() == before
    assert (await alice.deletions.show_conversation(hidden.id)).id == hidden.id


async def test_the_draft_of_the_empty_page_is_each_tenants_own(alice: Store) -> None:
    bob = alice.of("bob")
    await alice.drafts.put(None, "hers")
    await bob.drafts.put(None, "his")
    await answered(bob, await bob.conversations.create({}), "hers")
    assert ((await alice.drafts.get(None)).text, (await bob.drafts.get(None)).text) == ("hers", "his")
