"""The memory of answers to stateless clients, on a real SQLite file."""

import asyncio
import time
import tracemalloc
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from app.prompts import answer_memory
from app.prompts.answer_memory import ENTRY_BYTES, MAX_AGE_SECONDS, USE_SECONDS, AnswerMemory
from app.storage import answers
from app.storage.answers import SealedAnswer
from app.storage.connection import DatabaseConnection
from app.storage.sqlite.database import SqliteDatabase
from app.storage.store import Store
from cache_tiers.owners.block_key import Owner
from cache_tiers.owners.owners import Owners

QUIET, LOUD = Owner(b"quiet..."), Owner(b"loud....")
MANY = 400
T = TypeVar("T")


def name(number: int, owner: Owner = QUIET) -> bytes:
    """Name an answer of an owner. Digests of different tenants differ because they include the tenant's salt."""
    return owner + owner + number.to_bytes(8, "big")


ONE, TWO, THREE = name(1), name(2), name(3)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    store = await Store.open(tmp_path / "conversations.db")
    yield store
    await store.close()


async def stored(store: Store) -> dict[bytes, SealedAnswer]:
    return await store.answers.find([ONE, TWO, THREE])


async def test_answer_is_found_at_once_and_by_next_process(store: Store) -> None:
    memory = AnswerMemory(store.answers, Owners())
    memory.keep(ONE, b"one")
    assert await memory.find([ONE, TWO]) == {ONE: b"one"}
    memory.keep(TWO, b"two")
    memory.keep(TWO, b"another two")
    await memory.stop()
    later = AnswerMemory(store.answers, Owners())
    assert await later.find([ONE, TWO, THREE]) == {ONE: b"one", TWO: b"another two"}


async def test_answer_that_is_no_longer_hot_is_found_in_store(store: Store) -> None:
    memory = AnswerMemory(store.answers, Owners(), hot_bytes=1_000, save_seconds=0)
    for each in (ONE, TWO, THREE):
        memory.keep(each, each * 4)
    await memory.stop()
    assert memory.hot_bytes <= 1_000
    assert await memory.find([ONE, TWO, THREE]) == {each: each * 4 for each in (ONE, TWO, THREE)}
    assert memory.hot_bytes <= 1_000


async def test_broken_store_loses_no_hot_answer(store: Store) -> None:
    await store.database.write(lambda connection: connection.execute("DROP TABLE answer"))
    memory = AnswerMemory(store.answers, Owners())
    memory.keep(ONE, b"one")
    assert await memory.find([ONE, TWO]) == {ONE: b"one"}
    await memory.stop()
    assert await memory.find([ONE]) == {ONE: b"one"}


async def test_prompts_and_ends_do_not_wait_for_a_store_that_hangs(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = AnswerMemory(store.answers, Owners())
    memory.keep(ONE, b"one")
    monkeypatch.setattr(answer_memory, "FIND_SECONDS", 0.01)
    monkeypatch.setattr(store.answers, "find", lambda _names: asyncio.Event().wait())
    async with asyncio.timeout(20):
        assert await memory.find([ONE, TWO]) == {ONE: b"one"}


async def test_unused_answers_expire_and_used_ones_stay(store: Store) -> None:
    old = time.time() - MAX_AGE_SECONDS - 5
    soon = SealedAnswer(b"in use", old + 10)
    await store.answers.save({ONE: SealedAnswer(b"old", old), TWO: soon}, {})
    memory = AnswerMemory(store.answers, Owners())
    assert await memory.find([TWO]) == {TWO: b"in use"}
    memory.keep(THREE, b"new")
    await memory.stop()
    left = await stored(store)
    assert set(left) == {TWO, THREE}
    assert left[TWO].used_at > time.time() - USE_SECONDS


async def test_full_store_evicts_least_recently_used_answer(store: Store) -> None:
    now = time.time()
    await store.answers.save(
        {each: SealedAnswer(b"x" * 100, now + at) for at, each in enumerate((TWO, ONE, THREE))}, {}
    )
    await store.answers.trim(unused_since=0, max_bytes=300, weight=Owners().weight)
    assert set(await stored(store)) == {ONE, TWO, THREE}
    await store.answers.trim(unused_since=0, max_bytes=299, weight=Owners().weight)
    assert set(await stored(store)) == {ONE, THREE}


async def found(store: Store, owner: Owner, count: int = MANY) -> int:
    """Count how many of an owner's first `count` answers are still stored."""
    return len(await store.answers.find([name(number, owner) for number in range(count)]))


async def fill(store: Store, owner: Owner, count: int, used_at: float) -> None:
    """Store answers of 100 bytes each, last used 1 ms apart."""
    sealed = {name(number, owner): SealedAnswer(b"x" * 100, used_at + number / 1e3) for number in range(count)}
    await store.answers.save(sealed, {})


async def test_hot_answers_take_the_memory_that_they_count(store: Store) -> None:
    """Small answers cost mostly their names and their places."""
    memory = AnswerMemory(store.answers, Owners(), hot_bytes=1 << 20)
    for number in range(4_000):
        memory.keep(name(number, LOUD), b"x" * 64)
    await memory.stop()
    tracemalloc.start()
    try:
        for number in range(4_000):
            memory.keep(bytes(name(number)), bytes(64))
        await memory.stop()
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert memory.hot_bytes <= 1 << 20
    assert taken < 1.3 * (1 << 20)


async def test_flood_by_one_tenant_keeps_hot_answers_of_another(store: Store) -> None:
    memory = AnswerMemory(store.answers, Owners(), hot_bytes=40 * (ENTRY_BYTES + 100))
    await store.database.write(lambda connection: connection.execute("DROP TABLE answer"))
    for number in range(10):
        memory.keep(name(number), b"x" * 100)
    for number in range(MANY):
        memory.keep(name(number, LOUD), b"x" * 100)
    assert len(await memory.find([name(number) for number in range(10)])) == 10
    assert memory.hot_bytes == 40 * (ENTRY_BYTES + 100)
    await memory.stop()


async def test_flood_by_one_tenant_keeps_stored_answers_of_another(store: Store) -> None:
    await fill(store, QUIET, 40, 1_000.0)
    await fill(store, LOUD, MANY, 2_000.0)
    await store.answers.trim(unused_since=0, max_bytes=10_000, weight=Owners().weight)
    assert await found(store, QUIET) == 40
    assert await found(store, LOUD) == 50
    newest = [name(number, LOUD) for number in range(MANY - 50, MANY)]
    assert len(await store.answers.find(newest)) == 50


@pytest.mark.parametrize(("weights", "quiet", "loud"), [({}, 45, 45), ({"loud": 2.0}, 30, 60)])
async def test_full_store_is_divided_by_weight(store: Store, weights: dict[str, float], quiet: int, loud: int) -> None:
    owners = Owners(weights)
    owners.note(LOUD, "loud")
    await fill(store, QUIET, 100, 1_000.0)
    await fill(store, LOUD, 100, 2_000.0)
    await store.answers.trim(unused_since=0, max_bytes=10_000, weight=owners.weight)
    assert (await found(store, QUIET), await found(store, LOUD)) == (quiet, loud)


async def test_tenant_uses_room_that_others_leave(store: Store) -> None:
    await fill(store, QUIET, 1, 1_000.0)
    await fill(store, LOUD, 99, 2_000.0)
    await store.answers.trim(unused_since=0, max_bytes=10_000, weight=Owners().weight)
    assert await found(store, LOUD) == 99


async def test_answers_are_evicted_in_short_transactions(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "BATCH_ROWS", 7)
    await fill(store, LOUD, 50, 1_000.0)
    removed, write = list[int](), SqliteDatabase.write

    async def counted(database: SqliteDatabase, work: Callable[[DatabaseConnection], T], *, durable: bool = True) -> T:
        def counting(connection: DatabaseConnection) -> T:
            [[before]] = connection.fetch_all("SELECT count(*) FROM answer")
            result = work(connection)
            [[after]] = connection.fetch_all("SELECT count(*) FROM answer")
            removed.append(before - after)
            return result

        return await write(database, counting, durable=durable)

    monkeypatch.setattr(SqliteDatabase, "write", counted)
    await store.answers.trim(unused_since=2_000.0, max_bytes=10_000, weight=Owners().weight)
    assert removed == [7] * 7 + [1]


async def test_answer_without_owner_is_found_and_gets_owner_on_use(store: Store) -> None:
    old = time.time() - 2 * USE_SECONDS
    await store.answers.save({ONE: SealedAnswer(b"one", old)}, {})
    await store.database.write(lambda connection: connection.execute("UPDATE answer SET owner = x''"))
    memory = AnswerMemory(store.answers, Owners())
    assert await memory.find([ONE]) == {ONE: b"one"}
    await memory.stop()
    [row] = await store.database.read("SELECT owner FROM answer")
    assert row["owner"] == QUIET
