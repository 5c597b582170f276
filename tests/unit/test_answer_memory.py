"""What is remembered of answers, on a real SQLite file."""

import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.answer_memory import MAX_AGE_SECONDS, USE_SECONDS, AnswerMemory
from app.storage.answers import SealedAnswer
from app.storage.store import Store

ONE, TWO, THREE = b"1" * 16, b"2" * 16, b"3" * 16


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    store = await Store.open(tmp_path / "conversations.db")
    yield store
    await store.close()


async def stored(store: Store) -> dict[bytes, SealedAnswer]:
    return await store.answers.find([ONE, TWO, THREE])


async def test_what_is_kept_is_found_at_once_and_by_the_next_process(store: Store) -> None:
    memory = AnswerMemory(store.answers)
    memory.keep(ONE, b"one")
    assert await memory.find([ONE, TWO]) == {ONE: b"one"}
    memory.keep(TWO, b"two")
    memory.keep(TWO, b"another two")
    await memory.stop()
    later = AnswerMemory(store.answers)
    assert await later.find([ONE, TWO, THREE]) == {ONE: b"one", TWO: b"another two"}


async def test_what_is_not_hot_any_more_is_found_in_the_store(store: Store) -> None:
    memory = AnswerMemory(store.answers, hot_bytes=250, save_seconds=0)
    for name in (ONE, TWO, THREE):
        memory.keep(name, name * 6)
    await memory.stop()
    assert memory.hot_bytes <= 250
    assert await memory.find([ONE, TWO, THREE]) == {name: name * 6 for name in (ONE, TWO, THREE)}
    assert memory.hot_bytes <= 250


async def test_a_store_that_cannot_be_read_or_written_costs_no_answer(store: Store) -> None:
    await store.database.write(lambda connection: connection.execute("DROP TABLE answer"))
    memory = AnswerMemory(store.answers)
    memory.keep(ONE, b"one")
    assert await memory.find([ONE, TWO]) == {ONE: b"one"}
    await memory.stop()
    assert await memory.find([ONE]) == {ONE: b"one"}


async def test_those_that_nobody_used_for_long_go_and_those_that_were_used_stay(store: Store) -> None:
    old = time.time() - MAX_AGE_SECONDS - 5
    soon = SealedAnswer(b"in use", old + 10)
    await store.answers.save({ONE: SealedAnswer(b"old", old), TWO: soon}, {})
    memory = AnswerMemory(store.answers)
    assert await memory.find([TWO]) == {TWO: b"in use"}
    memory.keep(THREE, b"new")
    await memory.stop()
    left = await stored(store)
    assert set(left) == {TWO, THREE}
    assert left[TWO].used_at > time.time() - USE_SECONDS


async def test_of_too_much_what_was_used_longest_ago_goes(store: Store) -> None:
    now = time.time()
    await store.answers.save(
        {name: SealedAnswer(b"x" * 100, now + at) for at, name in enumerate((TWO, ONE, THREE))}, {}
    )
    await store.answers.trim(unused_since=0, max_bytes=300)
    assert set(await stored(store)) == {ONE, TWO, THREE}
    await store.answers.trim(unused_since=0, max_bytes=299)
    assert set(await stored(store)) == {ONE, THREE}
