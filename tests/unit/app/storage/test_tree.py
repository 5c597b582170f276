"""Versions, titles, pages, drafts and removals in the store, on a real SQLite file."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.answer_tokens import TokenTrail, trails_of
from app.domain.bounds import MAX_TITLE_LENGTH
from app.domain.records import Conversation, Message, new_id
from app.domain.token_history import pack_ids
from app.storage import messages
from app.storage.list_filter import ListFilter
from app.storage.run_records import MessageEnd, RunProgress, TurnRows
from app.storage.store import Store
from engine.api.errors import NotFoundError
from tests.unit.stored_chats import answered, message, record, turn


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    store = await Store.open(tmp_path / "conversations.db")
    yield store
    await store.close()


@pytest.fixture
async def conversation(store: Store) -> Conversation:
    return await store.conversations.create({})


async def version(store: Store, conversation: Conversation) -> int:
    return (await store.conversations.get(conversation.id)).version


@pytest.mark.parametrize(
    ("title", "numbered"),
    [
        ("Tides", "Tides (2)"),
        ("Tides (2)", "Tides (3)"),
        ("Tides (0)", "Tides (0) (2)"),
        ("x" * MAX_TITLE_LENGTH, "x" * (MAX_TITLE_LENGTH - 4) + " (2)"),
        (None, None),
    ],
)
async def test_title_says_that_a_chat_is_a_fork(store: Store, title: str | None, numbered: str | None) -> None:
    conversation = await store.conversations.create({"title": title})
    _, answer = await answered(store, conversation, "one")
    if title is None:
        await store.conversations.change(conversation.id, {"title": None})
    assert (await store.tree.fork(conversation.id, answer.id)).title == numbered


@pytest.mark.parametrize("title", ["Tides", "x" * MAX_TITLE_LENGTH])
async def test_further_forks_of_a_chat_are_counted_on(store: Store, title: str) -> None:
    conversation = await store.conversations.create({"title": title})
    _, answer = await answered(store, conversation, "one")
    await store.conversations.create({"title": f"{title[:190]} (2"})
    forks = [await store.tree.fork(conversation.id, answer.id) for _ in range(10)]
    base = [title[: MAX_TITLE_LENGTH - 4], title[: MAX_TITLE_LENGTH - 5]]
    assert [fork.title for fork in forks] == [f"{base[number > 9]} ({number})" for number in range(2, 12)]
    again = await store.tree.fork(forks[0].id, forks[0].head_id or "")
    assert again.title == f"{base[1]} (12)"
    await store.deletions.hide_conversation(forks[3].id)
    assert (await store.tree.fork(conversation.id, answer.id)).title == forks[3].title


async def test_user_changes_raise_version_and_server_changes_do_not(store: Store, conversation: Conversation) -> None:
    seen = [conversation.version]

    async def raised() -> bool:
        seen.append(await version(store, conversation))
        return seen[-1] == seen[-2] + 1

    question, answer = await turn(store, conversation, "one")
    assert await raised()
    await store.runs.finish(
        MessageEnd(content="Yes.", status="complete", finish_reason="stop", token_ids=b"").of(answer)
    )
    assert not await raised()
    assert await store.conversations.name_by_model(conversation.id, "A title")
    assert not await raised()
    await store.drafts.put(conversation.id, "typed")
    assert not await raised()
    await store.conversations.change(conversation.id, {"pinned": True})
    assert await raised()
    await store.conversations.change(conversation.id, {"pinned": True})
    assert not await raised(), "an unchanged field must not raise the version"
    await store.tree.show(conversation.id, question.id)
    assert not await raised(), "showing a message again must not raise the version"
    await store.deletions.hide_message(answer.id)
    assert await raised()
    await store.deletions.show_message(answer.id)
    assert await raised()
    await store.deletions.hide_conversation(conversation.id)
    await store.deletions.show_conversation(conversation.id)
    assert await version(store, conversation) == seen[-1] + 2


async def test_title_by_user_is_never_replaced(store: Store, conversation: Conversation) -> None:
    await answered(store, conversation, "one")
    assert (await store.conversations.get(conversation.id)).title_source == "first_message"
    await store.conversations.change(conversation.id, {"title": "Mine"})
    assert not await store.conversations.name_by_model(conversation.id, "Its own")
    found = await store.conversations.get(conversation.id)
    assert (found.title, found.title_source) == ("Mine", "user")
    cleared = await store.conversations.change(conversation.id, {"title": None})
    assert (cleared.title, cleared.title_source) == (None, None)


async def test_title_by_model_keeps_version_and_time(store: Store, conversation: Conversation) -> None:
    await answered(store, conversation, "one")
    before = await store.conversations.get(conversation.id)
    assert await store.conversations.name_by_model(conversation.id, "Tides")
    assert await store.conversations.get(conversation.id) == replace(before, title="Tides", title_source="model")


async def test_pages_list_pinned_first_and_archive_separately(store: Store) -> None:
    made = [await store.conversations.create({"title": str(index)}) for index in range(7)]
    await store.conversations.change(made[1].id, {"pinned": True})
    await store.conversations.change(made[2].id, {"archived": True})
    seen, after = list[str | None](), None
    while True:
        page = await store.conversations.page(limit=2, after=after)
        seen += [each.title for each in page.conversations]
        after = page.following
        if after is None:
            break
    assert seen == ["1", "6", "5", "4", "3", "0"]
    archived = await store.conversations.page(ListFilter(archived=True))
    assert ([each.title for each in archived.conversations], archived.following) == (["2"], None)


async def test_draft_is_kept_until_next_turn(store: Store, conversation: Conversation) -> None:
    assert (await store.drafts.get(conversation.id)).text == ""
    await store.drafts.put(conversation.id, "ty")
    await store.drafts.put(conversation.id, "typed")
    await store.drafts.put(None, "on the empty page")
    await store.drafts.put(None, "sent from the empty page ")
    assert (await store.drafts.get(conversation.id)).text == "typed"
    await answered(store, conversation, "something else")
    assert (await store.drafts.get(conversation.id)).text == ""
    assert (await store.drafts.get(None)).text == "sent from the empty page "
    await answered(store, await store.conversations.create({}), "sent from the empty page")
    assert (await store.drafts.get(None)).updated_at is None
    await store.drafts.put(conversation.id, "again")
    await store.drafts.put(conversation.id, "")
    assert (await store.drafts.get(conversation.id)).updated_at is None
    with pytest.raises(NotFoundError):
        await store.drafts.put("conv_none", "typed")


async def test_hidden_conversation_is_not_found_until_restored(store: Store, conversation: Conversation) -> None:
    question, answer = await answered(store, conversation, "one")
    await store.deletions.hide_conversation(conversation.id)
    assert (await store.conversations.page()).conversations == []
    assert [each async for each in store.conversations.each()] == []
    assert await hidden(store, question, answer)
    assert await store.messages.all_of(conversation.id) == []
    for attempt in (
        store.conversations.get(conversation.id),
        store.conversations.change(conversation.id, {"title": "x"}),
        store.deletions.hide_conversation(conversation.id),
        store.messages.of_run(answer.run_id or ""),
        turn(store, conversation, "two", answer),
        store.drafts.put(conversation.id, "typed"),
    ):
        with pytest.raises(NotFoundError):
            await attempt
    assert not await store.conversations.name_by_model(conversation.id, "A title")
    restored = await store.deletions.show_conversation(conversation.id)
    assert restored.head_id == answer.id
    assert not await hidden(store, question, answer)


async def test_removed_answer_is_returned_with_its_own_prompt(store: Store, conversation: Conversation) -> None:
    question, other = await answered(store, conversation, "one")
    answer = message(conversation, "assistant", "", question)
    await store.runs.begin(TurnRows(answer=answer, run=record(answer), own_prompt=pack_ids([5, 6])))
    await store.runs.finish(
        MessageEnd(content="Yes.", status="complete", finish_reason="stop", token_ids=pack_ids([7, 8])).of(answer)
    )
    assert await store.messages.own_prompt(answer.id) == pack_ids([5, 6])
    assert await store.messages.own_prompt(other.id) is None
    fork = await store.tree.fork(conversation.id, answer.id)
    assert fork.head_id is not None
    assert await store.messages.own_prompt(fork.head_id) == pack_ids([5, 6])
    await store.deletions.hide_message(answer.id)
    removed = await store.deletions.remove_oldest(1e12)
    assert removed is not None
    assert TokenTrail(pack_ids([5, 6, 7, 8]), (3,)) in trails_of(removed.nodes)
    again = message(conversation, "assistant", "", question)
    await store.runs.begin(TurnRows(answer=again, run=record(again), own_prompt=pack_ids([5, 6])))
    nodes = await store.deletions.remove_conversation(conversation.id)
    assert pack_ids([5, 6, 1, 2, 3]) in [trail.ids for trail in trails_of(nodes)]


async def test_removed_answer_is_quoted_by_no_prompt(store: Store, conversation: Conversation) -> None:
    question, quoted = await answered(store, conversation, "one")
    merging = replace(message(conversation, "assistant", "", question), merged=2)
    other = message(conversation, "assistant", "", question)
    for each in (merging, other):
        await store.runs.begin(TurnRows(answer=each, run=record(each), own_prompt=pack_ids([5, 6])))
    await store.deletions.hide_message(quoted.id)
    removed = await store.deletions.remove_oldest(1e12)
    assert removed is not None
    assert pack_ids([5, 6, 1, 2, 3]) in [trail.ids for trail in trails_of(removed.nodes)]
    assert await store.messages.own_prompt(merging.id) is None
    assert await store.messages.own_prompt(other.id) == pack_ids([5, 6])


async def hidden(store: Store, *messages: Message) -> bool:
    """Return whether all of the messages are hidden. Raise ValueError if only some are."""
    outcomes = set[bool]()
    for each in messages:
        try:
            await store.messages.get(each.id)
            outcomes.add(False)
        except NotFoundError:
            outcomes.add(True)
    [outcome] = outcomes
    return outcome


async def test_deleted_answer_is_not_reopened(store: Store) -> None:
    conversation = await store.conversations.create({})
    _, begun = await turn(store, conversation, "one")
    cut = MessageEnd(content="Y", status="cancelled", finish_reason="cancelled", token_ids=b"").of(begun)
    await store.runs.finish(cut)
    await store.deletions.hide_message(cut.id)
    again = replace(cut, run_id=new_id("run"))
    with pytest.raises(NotFoundError):
        await store.runs.reopen(again, record(again), RunProgress(again.run_id or "", 0, b"", []))
    await store.deletions.show_message(cut.id)
    assert await store.messages.get(cut.id) == cut


async def test_parts_of_a_conversation_are_bounded(
    store: Store, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await answered(store, conversation, "x" * 10)
    second = await answered(store, conversation, "y", first[1])
    third = await answered(store, conversation, "z" * 100, second[1])
    ids = [each.id for each in (*first, *second, *third)]
    for most, characters in ((1, 1000), (2, 1000), (256, 1), (256, 1000)):
        monkeypatch.setattr(messages, "PART_MESSAGES", most)
        monkeypatch.setattr(messages, "PART_CHARACTERS", characters)
        parts = await store.messages.parts_of_path(third[1].id)
        assert parts == await store.messages.parts_of(conversation.id)
        assert [each for part in parts for each in part] == ids
        assert max(map(len, parts)) == (1 if characters == 1 else min(most, len(ids)))
    assert [each.id for each in await store.messages.some([*reversed(ids), "unknown"])] == [*reversed(ids)]
