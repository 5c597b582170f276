"""The store of conversations, on a real SQLite file."""

import asyncio
import signal
import sqlite3
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.conversations import ConversationStore, MessageEnd, Turn
from app.database import MIGRATIONS, Database, DatabaseTooNewError
from app.ids import new_id
from app.records import Conversation, Message, Role
from app.token_history import MessageTokens, pack_ids
from engine.errors import ConflictError, NotFoundError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "conversations.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[ConversationStore]:
    database = await Database.open(path)
    yield ConversationStore(database)
    await database.close()


def message(conversation: Conversation, role: Role, content: str, parent: Message | None = None) -> Message:
    return Message(
        id=new_id("msg"),
        conversation_id=conversation.id,
        parent_id=parent.id if parent else None,
        role=role,
        content=content,
        status="complete" if role == "user" else "in_progress",
        created_at=time.time(),
        run_id=new_id("run") if role == "assistant" else None,
        params={"temperature": 0.5} if role == "assistant" else None,
        tokens=MessageTokens(pack_ids([1, 2, 3]), "key", starts_prompt=parent is None),
    )


async def turn(
    store: ConversationStore, conversation: Conversation, content: str, parent: Message | None = None
) -> tuple[Message, Message]:
    question = message(conversation, "user", content, parent)
    answer = message(conversation, "assistant", "", question)
    await store.begin_turn(Turn(answer=answer, question=question, title=content))
    return question, answer


async def test_a_conversation_is_read_as_it_was_made(store: ConversationStore) -> None:
    made = await store.create({"title": "Tides", "system_prompt": "Be brief.", "params": {"top_k": 4}})
    assert await store.get(made.id) == made
    assert (made.title, made.system_prompt, made.params, made.head_id) == ("Tides", "Be brief.", {"top_k": 4}, None)


async def test_the_list_is_newest_first_and_a_turn_makes_a_conversation_new(store: ConversationStore) -> None:
    first, second = await store.create({}), await store.create({})
    assert [c.id for c in await store.all()] == [second.id, first.id]
    await turn(store, first, "hello")
    assert [c.id for c in await store.all()] == [first.id, second.id]


async def test_a_change_touches_only_what_it_names(store: ConversationStore) -> None:
    made = await store.create({"title": "a", "system_prompt": "b", "params": {"top_k": 4}})
    changed = await store.change(made.id, {"title": None, "params": {"seed": 1}})
    assert (changed.title, changed.system_prompt, changed.params) == (None, "b", {"seed": 1})


async def test_what_does_not_exist_is_said_so(store: ConversationStore) -> None:
    for attempt in (
        store.get("conv_none"),
        store.change("conv_none", {"title": "x"}),
        store.delete("conv_none"),
        store.message("msg_none"),
        store.message_of_run("run_none"),
    ):
        with pytest.raises(NotFoundError):
            await attempt


async def test_messages_come_back_whole_along_the_path_to_the_head(store: ConversationStore) -> None:
    conversation = await store.create({})
    question, answer = await turn(store, conversation, "one")
    follow_up, last = await turn(store, conversation, "two", answer)
    head = (await store.get(conversation.id)).head_id
    assert head == last.id
    assert await store.path(head) == [question, answer, follow_up, last]


async def test_branches_share_their_beginning_and_do_not_see_each_other(store: ConversationStore) -> None:
    conversation = await store.create({})
    question, answer = await turn(store, conversation, "one")
    left, right = await turn(store, conversation, "left", answer), await turn(store, conversation, "right", answer)
    assert await store.path(left[1].id) == [question, answer, *left]
    assert await store.path(right[1].id) == [question, answer, *right]


async def test_the_first_turn_gives_a_title_and_later_ones_keep_it(store: ConversationStore) -> None:
    conversation = await store.create({})
    _, answer = await turn(store, conversation, "one")
    await turn(store, conversation, "two", answer)
    assert (await store.get(conversation.id)).title == "one"


async def test_a_finished_answer_keeps_text_usage_and_exact_tokens(store: ConversationStore) -> None:
    conversation = await store.create({})
    _, answer = await turn(store, conversation, "one")
    ids = pack_ids([7, 8, 49151])
    end = MessageEnd("text ぷ", "complete", "stop", ids, usage={"prompt_tokens": 3}, error=None)
    finished = await store.finish_message(answer, end)
    stored = await store.message(answer.id)
    assert stored == finished
    assert stored.tokens == replace(answer.tokens, ids=ids)
    assert (stored.content, stored.status, stored.usage) == ("text ぷ", "complete", {"prompt_tokens": 3})
    assert await store.message_of_run(answer.run_id or "") == stored


async def test_progress_is_kept_but_never_over_a_finished_answer(store: ConversationStore) -> None:
    conversation = await store.create({})
    _, answer = await turn(store, conversation, "one")
    await store.save_progress([(answer.id, "half", pack_ids([5]))])
    assert (await store.message(answer.id)).content == "half"
    await store.finish_message(answer, MessageEnd("whole", "complete", "stop", pack_ids([5, 6])))
    await store.save_progress([(answer.id, "half", pack_ids([5]))])
    assert (await store.message(answer.id)).content == "whole"


async def test_answers_that_a_former_process_left_are_closed_as_incomplete(store: ConversationStore) -> None:
    conversation = await store.create({})
    _, answer = await turn(store, conversation, "one")
    assert await store.close_unfinished() == 1
    assert (await store.message(answer.id)).status == "incomplete"
    assert await store.close_unfinished() == 0


async def test_a_question_for_a_head_that_moved_is_refused_and_nothing_is_written(store: ConversationStore) -> None:
    conversation = await store.create({})
    _, answer = await turn(store, conversation, "one")
    question = message(conversation, "user", "late")
    late = Turn(answer=message(conversation, "assistant", "", question), question=question, check_head=True)
    with pytest.raises(ConflictError):
        await store.begin_turn(late)
    assert (await store.get(conversation.id)).head_id == answer.id
    with pytest.raises(NotFoundError):
        await store.message(question.id)


async def test_a_deleted_conversation_takes_its_messages_along_and_gets_no_new_ones(store: ConversationStore) -> None:
    conversation = await store.create({})
    question, answer = await turn(store, conversation, "one")
    await store.delete(conversation.id)
    for gone in (question, answer):
        with pytest.raises(NotFoundError):
            await store.message(gone.id)
    with pytest.raises(NotFoundError):
        await turn(store, conversation, "two", answer)
    await store.finish_message(answer, MessageEnd("late", "complete", "stop", b""))
    with pytest.raises(NotFoundError):
        await store.message(answer.id)


async def test_a_question_after_a_message_that_is_gone_is_refused(store: ConversationStore) -> None:
    conversation = await store.create({})
    ghost = message(conversation, "assistant", "never stored")
    with pytest.raises(NotFoundError):
        await turn(store, conversation, "two", ghost)
    assert (await store.get(conversation.id)).head_id is None


async def test_many_writers_at_once_wait_for_each_other(store: ConversationStore) -> None:
    made = await asyncio.gather(*(store.create({"title": str(i)}) for i in range(50)))
    assert len(await store.all()) == len({conversation.id for conversation in made}) == 50


async def test_a_write_whose_caller_gives_up_is_still_whole(store: ConversationStore) -> None:
    writing = asyncio.create_task(store.create({"title": "kept"}))
    await asyncio.sleep(0)
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    await store.create({"title": "next"})
    assert {conversation.title for conversation in await store.all()} == {"kept", "next"}


async def test_opening_again_finds_everything(path: Path) -> None:
    for title, before in (("a", []), ("b", ["a"]), ("c", ["b", "a"])):
        database = await Database.open(path)
        store = ConversationStore(database)
        assert [conversation.title for conversation in await store.all()] == before
        await store.create({"title": title})
        await database.close()


async def test_a_file_of_a_later_version_is_left_alone(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    connection.close()
    with pytest.raises(DatabaseTooNewError):
        await Database.open(path)


WRITER = """
import asyncio, sys
from pathlib import Path
from app.conversations import ConversationStore
from app.database import Database

async def main():
    store = ConversationStore(await Database.open(Path(sys.argv[1])))
    while True:
        print((await store.create({"title": "x" * 2000})).id, flush=True)

asyncio.run(main())
"""


async def test_everything_acknowledged_is_there_after_kill_9(path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", WRITER, str(path), stdout=asyncio.subprocess.PIPE, limit=1 << 20
    )
    assert process.stdout is not None
    async with asyncio.timeout(20):
        acknowledged = [(await process.stdout.readline()).decode().strip() for _ in range(200)]
        process.send_signal(signal.SIGKILL)
        acknowledged += (await process.stdout.read()).decode().split("\n")[:-1]
        await process.wait()
    database = await Database.open(path)
    stored = {conversation.id for conversation in await ConversationStore(database).all()}
    await database.close()
    assert len(acknowledged) >= 200
    assert set(acknowledged) <= stored
