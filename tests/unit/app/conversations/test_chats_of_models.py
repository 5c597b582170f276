"""Chats on a server with several models, whose engines replay words."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.domain.records import Conversation, Message
from app.host.engine_host import EngineHost
from app.open_services import open_services
from app.schemas.conversations import NewMessage, RetryFields
from app.schemas.parsing import parse_object
from app.services import Services
from engine.api.errors import NotFoundError, NotReadyError
from tests.unit.app.host.model_table import LoadedModel, Models


@pytest.fixture
async def models() -> AsyncIterator[Models]:
    made = Models(("ant", "bee", "cat"), most=3)
    await made.table.start(lambda _: None)
    yield made
    await made.table.stop(0.0)


@pytest.fixture
async def services(tmp_path: Path, models: Models) -> AsyncIterator[Services]:
    host = EngineHost(models=models.table)
    host.ready(models.table.default.backend, "identity-ant")
    services = await open_services(tmp_path / "conversations.db", host)
    services.begin()
    yield services
    await models.table.stop(0.0)
    await services.close()


@pytest.fixture
async def conversation(services: Services) -> Conversation:
    return await services.store.conversations.create({})


async def ask(services: Services, conversation: Conversation, content: str, **fields: Any) -> Message:
    run = await services.turns.ask(conversation.id, parse_object(NewMessage, {"content": content, **fields}))
    await run.ended.wait()
    return await services.store.messages.get(run.answer.id)


def engine_of(models: Models, name: str) -> LoadedModel:
    [engine] = [each for each in models.loads if each.model_name == name]
    return engine


async def test_chat_continues_with_the_model_of_its_last_answer(
    services: Services, models: Models, conversation: Conversation
) -> None:
    first = await ask(services, conversation, "one")
    second = await ask(services, conversation, "two", model="bee")
    third = await ask(services, conversation, "three")
    assert [each.model for each in (first, second, third)] == ["ant", "bee", "bee"]
    assert [len(engine_of(models, name).requests) for name in ("ant", "bee")] == [1, 2]
    run = await services.turns.retry(first.id, parse_object(RetryFields, {}))
    await run.ended.wait()
    assert run.answer.model == "ant"
    run = await services.turns.retry(first.id, parse_object(RetryFields, {"model": "cat"}))
    await run.ended.wait()
    assert run.answer.model == "cat"


async def test_unknown_model_is_refused_by_name(services: Services, conversation: Conversation) -> None:
    with pytest.raises(NotFoundError, match="'dog' does not exist") as refused:
        await ask(services, conversation, "one", model="dog")
    assert refused.value.param == "model"
    assert await services.store.messages.path((await services.store.conversations.get(conversation.id)).head_id) == []


async def test_chat_whose_model_has_gone_has_the_default_one(
    services: Services, models: Models, conversation: Conversation
) -> None:
    await ask(services, conversation, "one", model="bee")
    del models.table._models["bee"]
    assert (await ask(services, conversation, "two")).model == "ant"


async def test_model_that_cannot_be_loaded_refuses_the_question(
    services: Services, models: Models, conversation: Conversation
) -> None:
    models.failing["bee"] = RuntimeError("no room")
    with pytest.raises(NotReadyError, match="'bee' could not be loaded"):
        await ask(services, conversation, "one", model="bee")
    assert (await services.store.conversations.get(conversation.id)).head_id is None


async def test_deletion_erases_the_kv_of_each_model(
    services: Services, models: Models, conversation: Conversation
) -> None:
    for number, name in enumerate(["ant", "bee", "ant"]):
        await ask(services, conversation, f"question {number}", model=name)
    kept = await services.store.conversations.create({})
    # Equal token ids of another model keep no blocks of this one.
    await ask(services, kept, "question 0", model="cat")
    await services.deletions.delete_conversation(conversation.id, permanently=True)
    ant, bee = engine_of(models, "ant"), engine_of(models, "bee")
    [trail] = await ant.until_erased(1)
    last = ant.requests[-1]
    assert (list(trail.token_ids), trail.num_shared, trail.model) == ([*last.prompt, *last.produced], 0, "ant")
    [trail] = await bee.until_erased(1)
    assert trail.model == "bee"


async def test_places_are_those_of_the_model_of_each_chat(services: Services, conversation: Conversation) -> None:
    await ask(services, conversation, "one", model="bee")
    other = await services.store.conversations.create({})
    await ask(services, other, "one")
    prefixes = await services.chat_prefixes.prefixes([conversation.id, other.id])
    engines = {name: prefix.engine.model_name for name, prefix in prefixes.items() if prefix.engine is not None}
    assert engines == {conversation.id: "bee", other.id: "ant"}
    assert all(prefix.ids for prefix in prefixes.values())
