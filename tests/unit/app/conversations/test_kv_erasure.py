"""The KV blocks to erase with a deleted conversation: the real store on a real file, an engine without a model."""

from pathlib import Path
from typing import Any

import pytest

from app.conversations import kv_erasure
from app.domain.records import Message
from app.domain.storage_health import StorageUnavailableError
from app.domain.token_history import joined_ids
from app.schemas.conversations import NewMessage, RetryFields
from app.schemas.parsing import parse_object
from app.services import Services
from app.storage.errors import ReadTimeoutError
from app.storage.token_index import TokenIndex, TokenList
from engine.api.stored_tokens import Trail
from engine.testing.replay_engine import ReplayEngine

pytest_plugins = ["tests.services_fixtures"]

SYSTEM = "You know a lot about rivers, and say it in few words. " * 8
QUESTION = "Which one is the longest?"


async def chat(services: Services, *questions: str, **fields: Any) -> str:
    """Create a conversation with these questions and return its id."""
    conversation = await services.store.conversations.create({"system_prompt": SYSTEM, **fields})
    for question in questions:
        await ask(services, conversation.id, question)
    return conversation.id


async def ask(services: Services, conversation_id: str, question: str) -> Message:
    run = await services.turns.ask(conversation_id, parse_object(NewMessage, {"content": question}))
    await run.ended.wait()
    return run.answer


async def ids_of(services: Services, conversation_id: str) -> list[int]:
    """Return the token ids of the path to the conversation's head."""
    head = (await services.store.conversations.get(conversation_id)).head_id
    path = await services.store.messages.path(head)
    ids = joined_ids(path, path[-1].tokens.prompt_key)
    assert ids is not None
    return ids


async def erased(services: Services, engine: ReplayEngine, conversation_id: str, count: int = 1) -> list[Trail]:
    """Delete the conversation, and return the `count` trails that the engine is asked to erase."""
    before = len(engine.erased)
    await services.deletions.delete_conversation(conversation_id, permanently=True)
    return (await engine.until_erased(before + count))[before:]


def common(one: list[int], other: list[int]) -> int:
    return next(at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)


async def test_kv_of_single_conversation_is_erased_completely(services: Services, engine: ReplayEngine) -> None:
    conversation = await chat(services, "one", "two")
    ids = await ids_of(services, conversation)
    [first, second] = [request.prompt for request in engine.requests]
    [trail] = await erased(services, engine, conversation)
    answered = len(first) + len(engine.requests[0].produced) - 1
    assert trail == Trail(ids, 0, (answered, len(ids) - 1), engine.model_name)
    assert ids[: len(second)] == list(second)


async def test_prefix_shared_with_other_conversations_stays(services: Services, engine: ReplayEngine) -> None:
    mine = await chat(services, "one", "two")
    nearest, other = await chat(services, "one", "three"), await chat(services, "four")
    await chat(services, "one", system_prompt="Another one. " * 40)
    ids = await ids_of(services, mine)
    shared = common(ids, await ids_of(services, nearest))
    assert shared > common(ids, await ids_of(services, other)) > 64
    [trail] = await erased(services, engine, mine)
    assert trail.num_shared == shared
    [trail] = await erased(services, engine, nearest)
    assert trail.num_shared == common(list(trail.token_ids), await ids_of(services, other))


async def test_kv_of_equal_conversations_stays_until_last_is_deleted(services: Services, engine: ReplayEngine) -> None:
    one, other = await chat(services, "one", "two"), await chat(services, "one", "two")
    [trail] = await erased(services, engine, one)
    assert trail.num_shared == len(trail.token_ids)
    [trail] = await erased(services, engine, other)
    assert trail.num_shared == 0


async def test_every_branch_is_erased(services: Services, engine: ReplayEngine) -> None:
    conversation = await chat(services, "one")
    head = (await services.store.conversations.get(conversation)).head_id
    assert head is not None
    run = await services.turns.retry(head, parse_object(RetryFields, {"params": {"max_tokens": 3}}))
    await run.ended.wait()
    await ask(services, conversation, "two")
    trails = await erased(services, engine, conversation, 2)
    assert sorted(len(trail.ends) for trail in trails) == [1, 2]


async def test_prefix_shared_with_inactive_branch_stays(services: Services, engine: ReplayEngine) -> None:
    other = await chat(services, "one", "two")
    first = (await services.store.messages.path((await services.store.conversations.get(other)).head_id))[1]
    run = await services.turns.ask(other, parse_object(NewMessage, {"content": "three", "parent_id": first.id}))
    await run.ended.wait()
    mine = await chat(services, "one", "two")
    [trail] = await erased(services, engine, mine)
    assert trail.num_shared == len(trail.token_ids)


async def test_longest_shared_prefix_counts_even_without_equal_path(services: Services, engine: ReplayEngine) -> None:
    other = await chat(services, "one")
    head = (await services.store.conversations.get(other)).head_id
    assert head is not None
    run = await services.turns.retry(head, parse_object(RetryFields, {"params": {"max_tokens": 3}}))
    await run.ended.wait()
    await ask(services, other, "two")
    mine = await chat(services, "one", params={"max_tokens": 6})
    [trail] = await erased(services, engine, mine)
    assert trail.num_shared == len(trail.token_ids)


async def test_conversation_is_deleted_without_engine(tmp_path: Path, services: Services) -> None:
    conversation = await chat(services, "one")
    services.model.host.engine = None
    await services.deletions.delete_conversation(conversation, permanently=True)
    assert (await services.store.conversations.page()).conversations == []


async def test_erasure_that_a_tier_misses_is_repeated(
    services: Services, engine: ReplayEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kv_erasure, "FIRST_WAIT", 0.001)
    services.model.erasure.start()
    conversation = await chat(services, "one")
    engine.num_unerased = 3
    [trail] = await erased(services, engine, conversation)
    assert trail.num_shared == 0


async def test_erasure_waits_for_a_database_that_is_away(
    services: Services, engine: ReplayEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kv_erasure, "FIRST_WAIT", 0.001)
    conversation = await chat(services, "one")
    errors: list[Exception] = [StorageUnavailableError("away"), ReadTimeoutError("hangs")]
    look = TokenIndex.starting_like

    async def fail_first(index: TokenIndex, first: bytes, tenant: str) -> list[TokenList]:
        if errors:
            raise errors.pop()
        return await look(index, first, tenant)

    monkeypatch.setattr(TokenIndex, "starting_like", fail_first)
    [trail] = await erased(services, engine, conversation)
    assert (trail.num_shared, errors) == (0, [])
