"""Deleting and restoring conversations, with the real store on a real file and an engine without a model."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from app.conversations import deletions as module
from app.conversations.deletions import DAY, UNDO_SECONDS
from app.domain.records import Message
from app.domain.token_history import joined_ids
from app.host.engine_host import EngineHost
from app.open_services import ServicePlan, open_services
from app.schemas.conversations import NewMessage
from app.schemas.parsing import parse_object
from app.services import Services
from app.storage.connection import DatabaseConnection
from engine.api.errors import NotFoundError
from engine.testing.replay_engine import ReplayEngine


@asynccontextmanager
async def serving(
    path: Path, engine: ReplayEngine, *, response_days: int = 0, deleted_days: int = 0
) -> AsyncIterator[Services]:
    host = EngineHost()
    services = await open_services(
        path / "conversations.db", host, ServicePlan(response_days=response_days, deleted_days=deleted_days)
    )
    await engine.start()
    host.ready(engine, "identity")
    yield services
    await engine.stop(0)
    await services.close()


@pytest.fixture
def engine() -> ReplayEngine:
    return ReplayEngine()


@pytest.fixture
async def services(tmp_path: Path, engine: ReplayEngine) -> AsyncIterator[Services]:
    async with serving(tmp_path, engine) as services:
        yield services


async def ask(services: Services, conversation_id: str, content: str, **fields: object) -> Message:
    run = await services.turns.ask(conversation_id, parse_object(NewMessage, {"content": content, **fields}))
    await run.ended.wait()
    return run.answer


async def chat(services: Services, *questions: str) -> tuple[str, Message]:
    """Create a conversation with these questions. Return its id and the last answer."""
    conversation = await services.store.conversations.create({})
    answers = [await ask(services, conversation.id, question) for question in questions]
    return conversation.id, answers[-1]


async def ids_of(services: Services, leaf_id: str) -> list[int]:
    path = await services.store.messages.path(leaf_id)
    ids = joined_ids(path, path[-1].tokens.prompt_key)
    assert ids is not None
    return ids


async def removed(services: Services, until: float) -> None:
    """Remove what was deleted by the time `until`."""
    await services.deletions.remove(until)


async def test_deleted_conversation_keeps_its_kv_during_undo_period(services: Services, engine: ReplayEngine) -> None:
    conversation, answer = await chat(services, "one")
    await services.deletions.delete_conversation(conversation)
    await removed(services, time.time() - UNDO_SECONDS)
    restored = await services.deletions.restore_conversation(conversation)
    assert restored.head_id == answer.id
    assert engine.erased == []
    assert (await ask(services, conversation, "two")).usage is not None


async def test_next_process_removes_pending_deletions(tmp_path: Path) -> None:
    async with serving(tmp_path, ReplayEngine()) as services:
        conversation, answer = await chat(services, "one")
        ids = await ids_of(services, answer.id)
        await services.deletions.delete_conversation(conversation)
        long_ago = time.time() - UNDO_SECONDS - 1
        await services.store.database.write(
            lambda connection: connection.execute("UPDATE conversation SET deleted_at = ?", (long_ago,))
        )
        await services.store.served.tick(0, long_ago, window=UNDO_SECONDS)
        await services.store.served.tick(UNDO_SECONDS, time.time(), window=UNDO_SECONDS)
    engine = ReplayEngine()
    async with serving(tmp_path, engine) as services:
        services.begin()
        [trail] = await engine.until_erased(1)
        assert trail.token_ids == ids
        with pytest.raises(NotFoundError):
            await services.deletions.restore_conversation(conversation)


async def served(services: Services, seconds: float, wall: float) -> None:
    """Serve for `seconds`, after which the clock shows `wall`, and remove the deletions that are due."""
    passed = await services.store.served.tick(seconds, wall, window=UNDO_SECONDS)
    await removed(services, min(passed, wall - UNDO_SECONDS))


@pytest.mark.parametrize("jump", [3600.0, 10 * 365 * 86_400.0])
async def test_clock_set_forward_removes_nothing_early(services: Services, engine: ReplayEngine, jump: float) -> None:
    conversation, _ = await chat(services, "one")
    now = time.time()
    await served(services, 0, now - UNDO_SECONDS)
    await served(services, UNDO_SECONDS, now)
    await services.deletions.delete_conversation(conversation)
    await served(services, 15, now + jump)
    await served(services, UNDO_SECONDS - 30, now + jump + UNDO_SECONDS)
    assert (await services.deletions.restore_conversation(conversation)).id == conversation
    await services.deletions.delete_conversation(conversation)
    await served(services, 15, now + jump + UNDO_SECONDS + 15)
    await served(services, UNDO_SECONDS, now + jump + 2 * UNDO_SECONDS + 15)
    assert len(await engine.until_erased(1)) == 1


async def test_clock_set_back_removes_nothing_early(services: Services) -> None:
    conversation, _ = await chat(services, "one")
    now = time.time()
    await served(services, 0, now - UNDO_SECONDS)
    await services.deletions.delete_conversation(conversation)
    for minute in range(12):
        await served(services, 60, now - 86_400 + 60 * minute)
    assert (await services.deletions.restore_conversation(conversation)).id == conversation


async def test_nothing_is_removed_before_engine_can_erase(tmp_path: Path) -> None:
    async with serving(tmp_path, ReplayEngine()) as services:
        conversation, _ = await chat(services, "one")
        await services.deletions.delete_conversation(conversation)
        await services.store.database.write(
            lambda connection: connection.execute("UPDATE conversation SET deleted_at = 0")
        )
    waiting = await open_services(tmp_path / "conversations.db", EngineHost())
    waiting.begin()
    await asyncio.sleep(0)
    assert (await waiting.deletions.restore_conversation(conversation)).id == conversation
    await waiting.close()


async def test_deleting_message_cancels_runs_below_it(services: Services, engine: ReplayEngine) -> None:
    conversation, first = await chat(services, "one")
    engine.hold()
    run = await services.turns.ask(conversation, NewMessage(content="two"))
    changed = await services.deletions.delete_message(run.answer.parent_id or "")
    assert (changed.head_id, run.answer.status, engine.running) == (first.id, "cancelled", 0)
    restored = await services.deletions.restore_message(run.answer.parent_id or "")
    assert restored.head_id == run.answer.id


async def test_recently_deleted_conversation_loses_kv_and_is_kept(tmp_path: Path, engine: ReplayEngine) -> None:
    async with serving(tmp_path, engine, deleted_days=30) as services:
        conversation, answer = await chat(services, "one", "two")
        await chat(services, "one")
        ids = await ids_of(services, answer.id)
        await services.deletions.delete_conversation(conversation)
        await services.store.served.tick(0, time.time(), window=UNDO_SECONDS)
        await services.deletions.erase_hidden(time.time())
        [trail] = await engine.until_erased(1)
        assert trail.token_ids == ids
        assert 0 < trail.num_shared < len(ids), "what another conversation shares must keep its KV"
        await services.deletions.erase_hidden(time.time())
        await services.deletions.remove_due(2 * UNDO_SECONDS)
        assert len(engine.erased) == 1
        [listed] = (await services.store.recently_deleted.page()).deleted
        assert listed.conversation.id == conversation
        assert (await services.deletions.restore_conversation(conversation)).head_id == answer.id
        assert (await services.store.recently_deleted.page()).deleted == []
        await ask(services, conversation, "three")
        await services.deletions.delete_conversation(conversation)
        await services.deletions.erase_hidden(time.time())
        assert len(await engine.until_erased(2)) == 2


async def test_temporary_conversation_is_removed_after_its_day(services: Services, engine: ReplayEngine) -> None:
    conversations = services.store.conversations
    conversation = await conversations.create({"temporary": True})
    answer = await ask(services, conversation.id, "one")
    ids = await ids_of(services, answer.id)
    kept = await conversations.create({"temporary": True})
    await conversations.change(kept.id, {"temporary": False})
    used_at = (await conversations.get(conversation.id)).updated_at
    await services.deletions.remove_temporary(used_at - 1)
    assert (await conversations.get(conversation.id)).head_id == answer.id
    await services.deletions.remove_temporary(used_at)
    with pytest.raises(NotFoundError):
        await conversations.get(conversation.id)
    [trail] = await engine.until_erased(1)
    assert trail.token_ids == ids
    await services.deletions.remove_temporary(time.time() + DAY)
    assert not (await conversations.get(kept.id)).temporary


async def test_deleted_temporary_conversation_goes_at_next_look(services: Services, engine: ReplayEngine) -> None:
    conversation = await services.store.conversations.create({"temporary": True})
    await ask(services, conversation.id, "one")
    await services.deletions.delete_conversation(conversation.id)
    assert (await services.store.recently_deleted.page()).deleted == []
    await services.deletions.remove_due(0.0)
    await engine.until_erased(1)
    with pytest.raises(NotFoundError):
        await services.deletions.restore_conversation(conversation.id)


async def test_recently_deleted_conversations_do_not_keep_shared_kv(services: Services, engine: ReplayEngine) -> None:
    first, _ = await chat(services, "one")
    second, _ = await chat(services, "one")
    await services.deletions.delete_conversation(first)
    await services.deletions.erase_hidden(time.time())
    assert (await engine.until_erased(1))[0].num_shared > 0
    await services.deletions.delete_conversation(second, permanently=True)
    assert (await engine.until_erased(2))[1].num_shared == 0


async def test_deleted_conversation_is_removed_after_days_of_serving(tmp_path: Path, engine: ReplayEngine) -> None:
    async with serving(tmp_path, engine, deleted_days=2) as services:
        conversation, _ = await chat(services, "one")
        await services.deletions.delete_conversation(conversation)
        long_ago = time.time() - 3 * DAY
        await services.store.database.write(
            lambda connection: connection.execute("UPDATE conversation SET deleted_at = ?", (long_ago,))
        )
        await services.store.served.tick(0, long_ago, window=UNDO_SECONDS)
        for _ in range(24):
            await services.deletions.remove_due(3600)
        assert len((await services.store.recently_deleted.page()).deleted) == 1, "served for one day only"
        for _ in range(30):
            await services.deletions.remove_due(3600)
        with pytest.raises(NotFoundError):
            await services.deletions.restore_conversation(conversation)


async def test_all_chats_are_deleted_and_removed_with_their_kv(
    services: Services, engine: ReplayEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOOK_SECONDS", 3600)
    services.deletions.begin()
    chats = {(await chat(services, text))[0] for text in ("one", "two")}
    kept = await services.store.conversations.create({"source": "api"})
    assert await services.deletions.delete_all("chat") == 2
    pages = [await services.store.recently_deleted.page(limit=1)]
    pages.append(await services.store.recently_deleted.page(limit=1, after=pages[0].following))
    assert {page.deleted[0].conversation.id for page in pages} == chats
    assert (pages[0].total, pages[1].total, pages[1].following) == (2, None, None)
    assert await services.deletions.remove_deleted() == 2
    for conversation in chats:
        with pytest.raises(NotFoundError):
            await services.deletions.restore_conversation(conversation)
    assert len(await engine.until_erased(2)) == 2
    assert (await services.store.conversations.get(kept.id)).id == kept.id


async def test_selected_chats_are_hidden_and_shown_at_once(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    chats = [(await services.store.conversations.create({})).id for _ in range(3)]
    write, transactions = services.store.database.write, list[str]()

    async def counted(work: Callable[[DatabaseConnection], object], *, durable: bool = True) -> object:
        transactions.append(repr(work))
        return await write(work, durable=durable)

    monkeypatch.setattr(services.store.database, "write", counted)
    for act in (services.deletions.delete_conversations, services.deletions.restore_conversations):
        assert await act([*chats, "conv_unknown"]) == chats
        assert len(transactions) == 1, "each transaction waits for the disk"
        transactions.clear()


async def test_deleted_messages_are_listed_in_pages(services: Services) -> None:
    store = services.store
    answers = [(await chat(services, text))[1] for text in ("one", "two", "three")]
    for answer in answers:
        await services.deletions.delete_message(answer.id)
    found, after = list[str](), None
    for _ in answers:
        page = await store.recently_deleted.messages(limit=1, after=after)
        found += [each.id for each in page.deleted]
        after = page.following
    assert (found, after) == ([each.id for each in reversed(answers)], None)


async def test_deleted_message_loses_kv_and_is_kept_for_days(tmp_path: Path, engine: ReplayEngine) -> None:
    async with serving(tmp_path, engine, deleted_days=30) as services:
        conversation, first = await chat(services, "one")
        last = await ask(services, conversation, "two " * 20)
        ids = await ids_of(services, last.id)
        await services.deletions.delete_message(last.parent_id or "")
        await services.deletions.erase_hidden(time.time())
        [trail] = await engine.until_erased(1)
        assert trail.token_ids == ids
        assert trail.num_shared >= len(await ids_of(services, first.id)), "the messages above keep their KV"
        await services.deletions.erase_hidden(time.time())
        await services.deletions.remove_due(2 * UNDO_SECONDS)
        assert len(engine.erased) == 1
        assert (await services.deletions.restore_message(last.parent_id or "")).head_id == last.id
        assert (await ask(services, conversation, "three")).usage is not None


async def test_first_turn_is_deleted_alone_below_left_out_messages(services: Services) -> None:
    conversation, _ = await chat(services, "one", "two")
    last = await ask(services, conversation, "three", left_out=4)
    path = await services.store.messages.path(last.id)
    changed = await services.deletions.delete_message(path[0].id, alone=True)
    kept = await services.store.messages.path(changed.head_id or "")
    assert [(each.content, each.left_out) for each in kept if each.role == "user"] == [("two", None), ("three", 2)]
    assert kept[0].parent_id is None
