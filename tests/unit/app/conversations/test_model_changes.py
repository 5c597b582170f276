"""Chats whose model changes and changes back, with the ids of each model."""

from typing import Any

import pytest

from app.domain.records import Conversation, Message
from app.schemas.conversations import NewMessage, RetryFields
from app.schemas.parsing import parse_object
from app.services import Services
from engine.testing.replay_engine import ReplayEngine

pytest_plugins = ["tests.services_fixtures"]


@pytest.fixture
async def conversation(services: Services) -> Conversation:
    return await services.store.conversations.create({})


async def ask(services: Services, conversation: Conversation, content: str, **fields: Any) -> Message:
    run = await services.turns.ask(conversation.id, parse_object(NewMessage, {"content": content, **fields}))
    await run.ended.wait()
    return run.answer


async def retry(services: Services, message: Message) -> Message:
    run = await services.turns.retry(message.id, parse_object(RetryFields, {}))
    await run.ended.wait()
    return run.answer


def served(services: Services, identity: str) -> None:
    """Serve another model from now on."""
    services.model.host.prompt_identity = identity


def computed(engine: ReplayEngine, number: int) -> list[int]:
    """Return the ids of a prompt and its answer."""
    request = engine.requests[number]
    return [*request.prompt, *request.produced]


async def test_model_that_returns_continues_its_ids(
    services: Services, engine: ReplayEngine, conversation: Conversation
) -> None:
    for number, model in enumerate(["ant", "bee", "ant", "bee"]):
        served(services, model)
        await ask(services, conversation, f"question {number}")
    first, second, third, fourth = (computed(engine, number) for number in range(4))
    assert third[: len(first)] == first
    assert fourth[: len(second)] == second
    # The texts of the other model's turns are in the prompts.
    assert len(third) > len(second) > len(first)


async def test_question_asked_of_two_models_stays_known_to_each(
    services: Services, engine: ReplayEngine, conversation: Conversation
) -> None:
    served(services, "ant")
    before = await ask(services, conversation, "one")
    served(services, "bee")
    other = await retry(services, before)
    await ask(services, conversation, "two")
    assert computed(engine, 2)[: len(computed(engine, 1))] == computed(engine, 1)
    served(services, "ant")
    await ask(services, conversation, "two", parent_id=before.id)
    assert computed(engine, 3)[: len(computed(engine, 0))] == computed(engine, 0)
    fork = await services.store.tree.fork(conversation.id, other.id)
    served(services, "bee")
    await ask(services, fork, "two")
    assert computed(engine, 4)[: len(computed(engine, 1))] == computed(engine, 1)


async def test_question_that_only_another_model_answered_is_read_once(
    services: Services, engine: ReplayEngine, conversation: Conversation
) -> None:
    served(services, "ant")
    first = await ask(services, conversation, "one")
    second = await ask(services, conversation, "two", parent_id=first.id)
    served(services, "bee")
    other = await retry(services, second)
    served(services, "ant")
    third = await ask(services, conversation, "three", parent_id=other.id)
    await ask(services, conversation, "four", parent_id=third.id)
    begun, known, continued = computed(engine, 0), computed(engine, 3), computed(engine, 4)
    assert known[: len(begun)] == begun
    assert continued[: len(known)] == known


async def test_kv_of_each_model_is_erased_with_the_chat(
    services: Services, engine: ReplayEngine, conversation: Conversation
) -> None:
    for number, model in enumerate(["ant", "bee", "ant"]):
        served(services, model)
        answer = await ask(services, conversation, f"question {number}")
    served(services, "bee")
    await retry(services, answer)
    kept = await services.store.conversations.create({})
    served(services, "ant")
    for number in range(2):
        await ask(services, kept, f"question {number}")
    await services.deletions.delete_conversation(conversation.id, permanently=True)
    trails = await engine.until_erased(2)
    expected = [computed(engine, 2), computed(engine, 3)]
    assert sorted(list(each.token_ids) for each in trails) == sorted(expected)
    shared = {tuple(each.token_ids): each.num_shared for each in trails}
    assert shared[tuple(expected[0])] >= len(computed(engine, 0))


async def test_limit_counts_ids_of_every_model(services: Services, conversation: Conversation) -> None:
    served(services, "ant")
    answer = await ask(services, conversation, "one")
    served(services, "bee")
    await retry(services, answer)

    async def read(column: str, table: str) -> int:
        [row] = await services.store.database.read(f"SELECT {column} AS figure FROM {table}")
        return int(row["figure"] or 0)

    assert await read("count(*)", "other_tokens") == 1
    assert await read("sum(nbytes)", "tenant_usage") == await read("sum(nbytes)", "stored_size") > 0
    await retry(services, answer)
    assert await read("count(*)", "other_tokens") == 1
    assert await read("sum(nbytes)", "tenant_usage") == await read("sum(nbytes)", "stored_size")
    await services.deletions.delete_conversation(conversation.id, permanently=True)
    assert await read("count(*)", "other_tokens") == await read("sum(nbytes)", "tenant_usage") == 0
