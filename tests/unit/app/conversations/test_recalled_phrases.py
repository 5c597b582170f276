"""Answers of stored chats that a new process gives to the drafts of its engine."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from app.domain.records import Message
from app.domain.token_history import unpack_ids
from app.host.engine_host import EngineHost
from app.open_services import open_services
from app.schemas.conversations import NewMessage
from app.services import Services
from engine.api.stored_tokens import AnsweredText
from engine.testing.replay_engine import ReplayEngine

QUESTION = "What is a river, and where does it begin?"


@asynccontextmanager
async def serving(folder: Path, identity: str = "identity") -> AsyncIterator[tuple[Services, ReplayEngine]]:
    engine, host = ReplayEngine(), EngineHost()
    await engine.start()
    host.ready(engine, identity)
    services = await open_services(folder / "conversations.db", host)
    yield services, engine
    await engine.stop(0)
    await services.close()


async def asked(services: Services, conversation_id: str) -> Message:
    """Ask a question, and return its answer."""
    run = await services.turns.ask(conversation_id, NewMessage(content=QUESTION))
    await run.ended.wait()
    return run.answer


async def recalled(folder: Path, identity: str = "identity") -> list[tuple[str, AnsweredText]]:
    """Return what the next process recalls."""
    async with serving(folder, identity) as (services, engine):
        services.model.phrases.start()
        task = services.model.phrases._task
        assert task is not None
        await task
        return engine.prefixes.recalled


async def test_next_process_recalls_the_answers_of_each_tenant(tmp_path: Path) -> None:
    async with serving(tmp_path) as (services, _):
        alice = services.of("alice")
        first = await services.store.conversations.create({})
        answers = [await asked(services, first.id) for _ in range(2)]
        other = await alice.store.conversations.create({})
        answers.append(await asked(alice, other.id))
    texts = await recalled(tmp_path)
    assert [tenant for tenant, _ in texts] == ["local", "alice"], "the one that asked last is forgotten last"
    found = [list(text.token_ids[start:stop]) for _, text in texts for start, stop in text.spans]
    assert found == [unpack_ids(answer.tokens.ids) for answer in answers]
    assert all(found)


async def test_deleted_chat_and_other_tokens_are_not_recalled(tmp_path: Path) -> None:
    async with serving(tmp_path) as (services, _):
        kept, gone = [await services.store.conversations.create({}) for _ in range(2)]
        for chat in (kept, gone):
            await asked(services, chat.id)
        await services.deletions.delete_conversation(gone.id)
    assert len(await recalled(tmp_path)) == 1
    assert await recalled(tmp_path, "another tokenizer") == []
