"""The store of conversations, on a real SQLite file."""

import asyncio
import resource
import sqlite3
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.deltas import Delta
from app.domain.records import Conversation
from app.domain.response_record import ResponseRecord
from app.domain.token_history import pack_ids, unpack_ids
from app.storage.connection import DatabaseConnection
from app.storage.errors import ConstraintError, UnusableDatabaseError
from app.storage.run_records import MessageEnd, RunProgress, StoredLength, TurnRows, UnfinishedRun
from app.storage.sqlite.database import SqliteDatabase
from app.storage.sqlite.migrating import migrations
from app.storage.store import Store
from engine.api.errors import ConflictError, NotFoundError
from tests.unit.stored_chats import message, record, turn


async def listed(store: Store) -> list[Conversation]:
    return (await store.conversations.page()).conversations


async def test_conversation_is_read_as_created(store: Store) -> None:
    made = await store.conversations.create({"title": "Tides", "system_prompt": "Be brief.", "params": {"top_k": 4}})
    assert await store.conversations.get(made.id) == made
    assert (made.title, made.system_prompt, made.params, made.head_id) == ("Tides", "Be brief.", {"top_k": 4}, None)


async def test_list_is_sorted_by_newest_turn(store: Store) -> None:
    first, second = await store.conversations.create({}), await store.conversations.create({})
    assert [c.id for c in await listed(store)] == [second.id, first.id]
    await turn(store, first, "hello")
    assert [c.id for c in await listed(store)] == [first.id, second.id]


async def test_change_affects_only_named_fields(store: Store) -> None:
    made = await store.conversations.create({"title": "a", "system_prompt": "b", "params": {"top_k": 4}})
    changed = await store.conversations.change(made.id, {"title": None, "params": {"seed": 1}})
    assert (changed.title, changed.system_prompt, changed.params) == (None, "b", {"seed": 1})


async def test_unknown_ids_raise_not_found(store: Store) -> None:
    for attempt in (
        store.conversations.get("conv_none"),
        store.conversations.change("conv_none", {"title": "x"}),
        store.deletions.hide_conversation("conv_none"),
        store.deletions.remove_conversation("conv_none"),
        store.deletions.show_conversation("conv_none"),
        store.deletions.hide_message("msg_none"),
        store.messages.get("msg_none"),
        store.messages.of_run("run_none"),
    ):
        with pytest.raises(NotFoundError):
            await attempt


async def test_path_to_head_returns_whole_messages(store: Store) -> None:
    conversation = await store.conversations.create({})
    question, answer = await turn(store, conversation, "one")
    follow_up, last = await turn(store, conversation, "two", answer)
    head = (await store.conversations.get(conversation.id)).head_id
    assert head == last.id
    assert await store.messages.path(head) == [question, answer, follow_up, last]


async def test_branches_share_prefix_and_are_separate(store: Store) -> None:
    conversation = await store.conversations.create({})
    question, answer = await turn(store, conversation, "one")
    left, right = await turn(store, conversation, "left", answer), await turn(store, conversation, "right", answer)
    assert await store.messages.path(left[1].id) == [question, answer, *left]
    assert await store.messages.path(right[1].id) == [question, answer, *right]


async def test_first_turn_sets_title_and_later_ones_keep_it(store: Store) -> None:
    conversation = await store.conversations.create({})
    _, answer = await turn(store, conversation, "one")
    await turn(store, conversation, "two", answer)
    assert (await store.conversations.get(conversation.id)).title == "one"


async def test_finished_answer_keeps_text_usage_and_exact_tokens(store: Store) -> None:
    conversation = await store.conversations.create({})
    _, answer = await turn(store, conversation, "one")
    ids = pack_ids([7, 8, 49151])
    end = MessageEnd(
        content="text ぷ",
        status="complete",
        finish_reason="stop",
        token_ids=ids,
        usage={"prompt_tokens": 3},
        error=None,
    )
    finished = end.of(answer)
    await store.runs.finish(finished)
    stored = await store.messages.get(answer.id)
    assert stored == finished
    assert stored.tokens == replace(answer.tokens, ids=ids)
    assert (stored.content, stored.status, stored.usage) == ("text ぷ", "complete", {"prompt_tokens": 3})
    assert await store.messages.of_run(answer.run_id or "") == stored


async def found(store: Store, run_id: str | None) -> UnfinishedRun:
    run = await store.runs.find(run_id or "")
    assert run is not None
    return run


async def test_next_process_finds_complete_progress_in_order(store: Store) -> None:
    conversation = await store.conversations.create({})
    _, answer = await turn(store, conversation, "one")
    run_id = answer.run_id or ""
    await store.runs.save_progress([RunProgress(run_id, 0, pack_ids([5, 6]), [Delta(2, "a"), Delta(3, "ぷ")])])
    await store.runs.save_progress([RunProgress(run_id, 2, pack_ids([7]), [])])
    await store.runs.save_progress([RunProgress(run_id, 3, pack_ids([8]), [Delta(5, "c", is_thought=True)])])
    left = await found(store, run_id)
    assert (left.record, left.answer) == (record(answer), answer)
    assert unpack_ids(left.token_ids) == [5, 6, 7, 8]
    assert left.deltas == [Delta(2, "a"), Delta(3, "ぷ"), Delta(5, "c", is_thought=True)]


async def test_text_in_progress_may_have_nul_characters(store: Store) -> None:
    conversation = await store.conversations.create({})
    _, answer = await turn(store, conversation, "one")
    pieces = [Delta(2, "a\0\\"), Delta(3, "\\u0000")]
    await store.runs.save_progress([RunProgress(answer.run_id or "", 0, pack_ids([5, 6]), pieces)])
    left = await found(store, answer.run_id)
    assert left.deltas == pieces


async def test_piece_whose_commit_was_in_doubt_is_stored_once(store: Store) -> None:
    conversation = await store.conversations.create({})
    _, answer = await turn(store, conversation, "one")
    run_id = answer.run_id or ""
    await store.runs.save_progress([RunProgress(run_id, 0, pack_ids([5, 6]), [Delta(2, "a"), Delta(3, "b")])])
    # The writer saw no answer, and repeats the piece along with later tokens.
    longer = [Delta(2, "a"), Delta(3, "b"), Delta(4, "c")]
    assert await store.runs.save_progress([RunProgress(run_id, 0, pack_ids([5, 6, 7]), longer)]) == {
        run_id: StoredLength(2, 2)
    }
    assert await store.runs.save_progress([RunProgress(run_id, 2, pack_ids([7]), longer[2:])]) == {}
    left = await found(store, run_id)
    assert (unpack_ids(left.token_ids), left.deltas) == ([5, 6, 7], longer)


async def test_piece_after_lost_ones_is_refused(store: Store) -> None:
    conversation = await store.conversations.create({})
    _, answer = await turn(store, conversation, "one")
    run_id = answer.run_id or ""
    late = RunProgress(run_id, 3, pack_ids([8]), [Delta(5, "d")])
    assert await store.runs.save_progress([late]) == {run_id: StoredLength(0, 0)}
    left = await found(store, run_id)
    assert (left.token_ids, left.deltas) == (b"", [])


async def test_copy_ahead_of_lost_output_is_out_of_step(store: Store) -> None:
    conversation = await store.conversations.create({})
    _, answer = await turn(store, conversation, "one")
    run_id = answer.run_id or ""
    await store.runs.save_progress([RunProgress(run_id, 0, pack_ids([5, 6, 7]), [])])
    await store.runs.save_progress([RunProgress(run_id, 3, pack_ids([8]), [])])
    assert [await in_step(store, run_id, tokens) for tokens in (0, 1, 2, 3, 4, 5)] == [
        True,
        False,
        False,
        True,
        True,
        True,
    ]


async def in_step(store: Store, run_id: str, num_tokens: int) -> bool:
    news = await store.runs.news(run_id, num_tokens)
    assert news is not None
    return news.is_next


async def test_ended_run_leaves_no_progress(store: Store) -> None:
    conversation = await store.conversations.create({})
    _, answer = await turn(store, conversation, "one")
    progress = RunProgress(answer.run_id or "", 0, pack_ids([5]), [Delta(2, "half")])
    await store.runs.save_progress([progress])
    await store.runs.finish(
        MessageEnd(content="whole", status="complete", finish_reason="stop", token_ids=pack_ids([5, 6])).of(answer)
    )
    await store.runs.save_progress([progress])
    assert await store.runs.find(answer.run_id or "") is None
    assert await store.database.read("SELECT * FROM run_event") == []
    assert (await store.messages.get(answer.id)).content == "whole"


async def test_deaths_are_counted_until_next_token(store: Store) -> None:
    conversation = await store.conversations.create({})
    _, answer = await turn(store, conversation, "one")
    again = replace(record(answer), epoch=1, fruitless=2, resumed_with=0)
    await store.runs.release([again.id])
    assert await store.runs.take_over([again]) == {again.id}
    left = await found(store, again.id)
    assert left.record == again
    await store.runs.save_progress([RunProgress(again.id, 0, pack_ids([5]), [], epoch=1)])
    left = await found(store, again.id)
    assert (left.record.epoch, left.record.fruitless) == (1, 0)


async def test_run_of_this_server_is_not_left(store: Store) -> None:
    conversation = await store.conversations.create({})
    _, answer = await turn(store, conversation, "one")
    assert await store.runs.unfinished() == []
    assert await store.runs.take_over([replace(record(answer), epoch=1)]) == set()
    await store.runs.release([answer.run_id or ""])
    (left,) = await store.runs.unfinished()
    assert left.answer == answer


async def test_answers_in_progress_without_run_become_incomplete(store: Store) -> None:
    conversation = await store.conversations.create({})
    _, kept = await turn(store, conversation, "one")
    _, left = await turn(store, conversation, "two")
    await store.database.write(lambda c: c.execute("DELETE FROM run WHERE message_id = ?", (left.id,)))
    assert await store.runs.close_unfinished() == 1
    assert (await store.messages.get(left.id)).status == "incomplete"
    assert (await store.messages.get(kept.id)).status == "in_progress"
    assert await store.runs.close_unfinished() == 0


async def test_question_for_moved_head_is_rejected_unwritten(store: Store) -> None:
    conversation = await store.conversations.create({})
    _, answer = await turn(store, conversation, "one")
    question = message(conversation, "user", "late")
    refused = message(conversation, "assistant", "", question)
    late = TurnRows(answer=refused, run=record(refused), questions=(question,), check_head=True)
    with pytest.raises(ConflictError):
        await store.runs.begin(late)
    assert (await store.conversations.get(conversation.id)).head_id == answer.id
    with pytest.raises(NotFoundError):
        await store.messages.get(question.id)


async def test_deleted_conversation_has_no_messages_and_gets_no_more(store: Store) -> None:
    conversation = await store.conversations.create({})
    question, answer = await turn(store, conversation, "one")
    await store.deletions.remove_conversation(conversation.id)
    for gone in (question, answer):
        with pytest.raises(NotFoundError):
            await store.messages.get(gone.id)
    with pytest.raises(NotFoundError):
        await turn(store, conversation, "two", answer)
    await store.runs.finish(
        MessageEnd(content="late", status="complete", finish_reason="stop", token_ids=b"").of(answer)
    )
    with pytest.raises(NotFoundError):
        await store.messages.get(answer.id)


async def test_question_after_missing_message_is_rejected(store: Store) -> None:
    conversation = await store.conversations.create({})
    ghost = message(conversation, "assistant", "never stored")
    with pytest.raises(NotFoundError):
        await turn(store, conversation, "two", ghost)
    assert (await store.conversations.get(conversation.id)).head_id is None


async def test_turn_that_breaks_a_constraint_names_the_kind(store: Store) -> None:
    conversation = await store.conversations.create({})
    first = message(conversation, "user", "one")
    ghost = message(conversation, "user", "never stored")
    for second, kind, code in (
        (message(conversation, "user", "two", ghost), NotFoundError, "message_not_found"),
        (first, ConflictError, "message_exists"),
    ):
        answer = message(conversation, "assistant", "", first)
        with pytest.raises(kind) as caught:
            await store.runs.begin(TurnRows(answer=answer, run=record(answer), questions=(first, second)))
        assert caught.value.code == code
    odd = replace(message(conversation, "assistant", ""), status="odd")  # type: ignore[arg-type]
    with pytest.raises(ConstraintError):
        await store.runs.begin(TurnRows(answer=odd, run=record(odd)))
    assert await store.messages.all_of(conversation.id) == []


async def test_transaction_does_not_wait_for_event_loop(path: Path) -> None:
    database, written = await SqliteDatabase.open(path), threading.Event()

    def work(connection: DatabaseConnection) -> None:
        connection.execute("CREATE TABLE of_the_test(number)")
        connection.execute("INSERT INTO of_the_test VALUES (1)")
        written.set()

    writing = asyncio.create_task(database.write(work))
    await asyncio.sleep(0)
    # The event loop is blocked here.
    assert written.wait(10)
    await writing
    await database.close()


async def test_concurrent_writers_wait_for_each_other(store: Store) -> None:
    made = await asyncio.gather(*(store.conversations.create({"title": str(i)}) for i in range(50)))
    assert len(await listed(store)) == len({conversation.id for conversation in made}) == 50


async def test_cancelled_write_is_still_committed(store: Store) -> None:
    writing = asyncio.create_task(store.conversations.create({"title": "kept"}))
    await asyncio.sleep(0)
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    await store.conversations.create({"title": "next"})
    assert {conversation.title for conversation in await listed(store)} == {"kept", "next"}


async def test_reopened_store_has_all_conversations(path: Path) -> None:
    for title, before in (("a", []), ("b", ["a"]), ("c", ["b", "a"])):
        store = await Store.open(path)
        assert [conversation.title for conversation in await listed(store)] == before
        await store.conversations.create({"title": title})
        await store.close()


@pytest.mark.sqlite_file
async def test_file_of_later_version_is_rejected(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version = {len(migrations()) + 1}")
    connection.close()
    with pytest.raises(UnusableDatabaseError, match="later version"):
        await Store.open(path)


@pytest.mark.sqlite_file
def test_file_that_is_no_database_is_left_unchanged(path: Path) -> None:
    path.write_bytes(b"no database" * 100)
    with pytest.raises(UnusableDatabaseError, match="cannot be opened"):
        asyncio.run(Store.open(path))
    assert path.read_bytes() == b"no database" * 100


@pytest.mark.sqlite_file
def test_file_size_limit_is_named_where_it_stops_the_start(path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, before[1]))
    try:
        with pytest.raises(UnusableDatabaseError, match=r"no file may be larger than 64 KiB\. Nothing is lost"):
            asyncio.run(Store.open(path))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


async def test_deleting_response_of_hidden_message_removes_no_message(store: Store) -> None:
    conversation = await store.conversations.create({})
    question, answer = message(conversation, "user", "one"), message(conversation, "assistant", "")
    begun = TurnRows(
        answer=replace(answer, parent_id=question.id),
        run=record(answer),
        questions=(question,),
        title="one",
        response=ResponseRecord(
            model="model",
            background=False,
            instructions=None,
            previous_response_id=None,
            conversation_id=None,
            max_output_tokens=None,
            metadata={},
        ),
    )
    await store.runs.begin(begun)
    await store.deletions.hide_message(question.id)
    response_id = answer.id.replace("msg_", "resp_")
    assert await store.responses.delete(response_id) == []
    with pytest.raises(NotFoundError):
        await store.responses.get(response_id)
    restored = await store.deletions.show_message(question.id)
    assert restored.head_id == answer.id


async def test_newest_conversation_is_first_after_clock_is_set_back(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    earlier = await store.conversations.create({"title": "earlier"})
    later = await store.conversations.create({"title": "later"})
    yesterday = time.time() - 86_400
    monkeypatch.setattr(time, "time", lambda: yesterday)
    _, answer = await turn(store, earlier, "one")
    listed = (await store.conversations.page()).conversations
    assert [each.id for each in listed] == [earlier.id, later.id]
    new = await store.conversations.create({"title": "new"})
    listed = (await store.conversations.page()).conversations
    assert [each.id for each in listed] == [new.id, earlier.id, later.id]
    ended = MessageEnd(content="Yes.", status="complete", finish_reason="stop", token_ids=b"").of(
        replace(answer, created_at=yesterday + 86_400)
    )
    assert ended.completed_at == yesterday + 86_400
