"""Erasures of KV that are owed: by the next process, and while the engine is away. An engine without a model."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from app.conversations import kv_erasure
from app.conversations.kv_erasure import COMPARED_AT_ONCE, KVErasure
from app.domain.storage_health import CommitUnknownError, StorageUnavailableError
from app.host.engine_host import EngineHost
from app.open_services import open_services
from app.schemas.conversations import NewMessage
from app.schemas.parsing import parse_object
from app.services import Services
from app.storage.connection import DatabaseConnection
from app.storage.owed_erasures import MOST_AT_ONCE, ROW_KEYS
from app.storage.store import Store
from cache_tiers.owners.block_key import KEY_BYTES, BlockKey
from engine.api.errors import NotFoundError, NotReadyError
from engine.testing.replay_engine import ReplayEngine

SYSTEM = "You know a lot about rivers, and say it in few words. " * 8


@asynccontextmanager
async def serving(path: Path, engine: ReplayEngine | None = None) -> AsyncIterator[Services]:
    """Open the services. engine: None while the model is being loaded."""
    host = EngineHost()
    services = await open_services(path / "conversations.db", host)
    if engine is not None:
        await engine.start()
        host.ready(engine, "identity")
    yield services
    if engine is not None:
        await engine.stop(0)
    await services.close()


async def chat(services: Services, question: str) -> str:
    """Create a conversation with this question and return its id."""
    conversation = await services.store.conversations.create({"system_prompt": SYSTEM})
    run = await services.turns.ask(conversation.id, parse_object(NewMessage, {"content": question}))
    await run.ended.wait()
    return conversation.id


async def owed(store: Store) -> list[BlockKey]:
    return [key for row in await store.owed_erasures.after(0) for key in row.keys]


async def until_nothing_is_owed(store: Store) -> None:
    async with asyncio.timeout(20):
        # A row that goes is no event that a test can wait for.
        while await store.database.read("SELECT 1 FROM owed_erasure"):  # noqa: ASYNC110
            await asyncio.sleep(0.001)


def numbered(count: int) -> list[BlockKey]:
    return [BlockKey(number.to_bytes(KEY_BYTES, "little")) for number in range(count)]


async def test_next_process_makes_the_erasure_that_a_tier_missed(tmp_path: Path) -> None:
    engine = ReplayEngine()
    async with serving(tmp_path, engine) as services:
        await chat(services, "other")
        deleted = await chat(services, "one")
        engine.num_unerased = 1
        await services.deletions.delete_conversation(deleted, permanently=True)
        await asyncio.gather(*services.model.erasure._tasks)
        assert engine.erased == []
        [key] = await owed(services.store)
        _, trail = engine._trails[key]
        assert 0 < trail.num_shared < len(trail.token_ids), "a prefix that another chat shares stays"
    following = ReplayEngine()
    async with serving(tmp_path, following) as services:
        services.model.erasure.start()
        await until_nothing_is_owed(services.store)
        assert following.erased_keys == [key]


async def test_next_process_erases_what_was_not_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def end(*_: object) -> None:
        """Stand for a process that ends as soon as the messages are gone."""

    engine = ReplayEngine()
    async with serving(tmp_path, engine) as services:
        deleted = await chat(services, "one")
        with monkeypatch.context() as ending:
            ending.setattr(KVErasure, "_settle", end)
            await services.deletions.delete_conversation(deleted, permanently=True)
        assert await services.store.database.read("SELECT 1 FROM message") == []
        assert len(await owed(services.store)) == 1
    following = ReplayEngine()
    async with serving(tmp_path, following) as services:
        services.model.erasure.start()
        await until_nothing_is_owed(services.store)
        assert len(following.erased_keys) == 1


async def test_erasure_that_is_being_compared_is_not_made(tmp_path: Path) -> None:
    engine = ReplayEngine()
    async with serving(tmp_path, engine) as services:
        services.model.erasure._comparing.update(await services.store.owed_erasures.add(numbered(1), 0.0))
        assert await services.model.erasure._make_all(engine)
        assert engine.erased_keys == []


async def test_chat_deleted_while_the_model_loads_is_erased_later(tmp_path: Path) -> None:
    async with serving(tmp_path, ReplayEngine()) as services:
        deleted = await chat(services, "one")
    engine = ReplayEngine()
    async with serving(tmp_path) as services:
        await services.deletions.delete_conversation(deleted, permanently=True)
        services.begin()
        await engine.start()
        services.model.host.ready(engine, "identity")
        assert len(await engine.until_erased(1)) == 1
        await engine.stop(0)


async def test_nothing_leaves_while_the_model_loads(tmp_path: Path) -> None:
    async with serving(tmp_path, ReplayEngine()) as services:
        kept = await chat(services, "one")
        head = (await services.store.conversations.get(kept)).head_id
        assert head is not None
    async with serving(tmp_path) as services:
        with pytest.raises(NotReadyError):
            await services.store.items.remove(kept, head, services.model.erasure.leaving)
        assert (await services.store.messages.get(head)).id == head


async def test_removal_that_fails_erases_nothing(tmp_path: Path) -> None:
    engine = ReplayEngine()
    async with serving(tmp_path, engine) as services:
        kept = await chat(services, "one")
        with pytest.raises(NotFoundError):
            await services.store.items.remove(kept, "msg_none", services.model.erasure.leaving)
        await asyncio.gather(*services.model.erasure._tasks)
        assert await owed(services.store) == []
        assert engine.erased == []


async def test_removal_without_an_answer_of_the_database_erases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = ReplayEngine()
    async with serving(tmp_path, engine) as services:
        kept = await chat(services, "one")
        head = (await services.store.conversations.get(kept)).head_id
        assert head is not None
        database, write = services.store.database, services.store.database.write

        async def unanswered(work: Callable[[DatabaseConnection], Any], **how: Any) -> Any:
            result = await write(work, **how)
            if work.__name__ == "remove":
                raise CommitUnknownError(Future())
            return result

        monkeypatch.setattr(database, "write", unanswered)
        with pytest.raises(CommitUnknownError):
            await services.store.items.remove(kept, head, services.model.erasure.leaving)
        assert len(await engine.until_erased(1)) == 1


async def test_many_owed_erasures_are_made_in_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kv_erasure, "FIRST_WAIT", 0.001)
    keys, engine = numbered(2 * MOST_AT_ONCE * ROW_KEYS + 1), ReplayEngine()
    engine.num_unerased = 2
    async with serving(tmp_path, engine) as services:
        await services.store.owed_erasures.add(keys, time.time())
        sizes, erase = list[int](), engine.erase

        async def counted(given: list[BlockKey], *, again: bool) -> bool:
            sizes.append(len(given))
            return await erase(given, again=again)

        monkeypatch.setattr(engine, "erase", counted)
        services.model.erasure.start()
        await until_nothing_is_owed(services.store)
    assert engine.erased_keys == keys
    most = MOST_AT_ONCE * ROW_KEYS
    assert sizes == [most, most, most, most, 1], "the first batch is repeated until it is made"


async def test_erasure_is_owed_until_tiers_have_dropped_the_blocks(tmp_path: Path) -> None:
    async with serving(tmp_path, ReplayEngine()) as services:
        add = services.store.owed_erasures.add
        old, new = numbered(2)
        await add([old], 1000.0)
        await add([new], 2000.0)
        await services.store.owed_erasures.forget(1500.0)
        assert await owed(services.store) == [new]


async def test_chats_removed_together_keep_no_kv_of_each_other(tmp_path: Path) -> None:
    engine = ReplayEngine()
    async with serving(tmp_path, engine) as services:
        await services.deletions.delete_conversations([await chat(services, "one") for _ in range(2)])
        assert await services.deletions.remove_deleted() == 2
        await services.deletions.remove(0.0)
        assert [trail.num_shared for trail in await engine.until_erased(2)] == [0, 0]


async def test_few_deletions_are_compared_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kv_erasure, "READ_SECONDS", 0.05)
    settle, answers = KVErasure._settle, asyncio.Event()

    async def hang(erasure: KVErasure, *given: Any) -> None:
        """Compare once the database answers."""
        await answers.wait()
        await settle(erasure, *given)

    engine = ReplayEngine()
    async with serving(tmp_path, engine) as services:
        *first, last = [await chat(services, f"number {number}") for number in range(COMPARED_AT_ONCE + 1)]
        monkeypatch.setattr(KVErasure, "_settle", hang)
        for each in first:
            await services.deletions.delete_conversation(each, permanently=True)
        with pytest.raises(StorageUnavailableError):
            await services.deletions.delete_conversation(last, permanently=True)
        answers.set()
        await engine.until_erased(len(first))
        await services.deletions.remove(0.0)
        await engine.until_erased(len(first) + 1)
