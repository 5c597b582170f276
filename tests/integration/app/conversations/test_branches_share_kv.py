"""Branches and forks share the KV of their common prefix in every tier: the real engine behind the real server."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from app.domain.token_history import joined_ids
from app.storage.store import Store
from engine.loop.async_llm import AsyncLLMEngine
from engine.wiring.build import build_engine
from tests.integration.api_server import RunningServer, api_client, running_server
from tests.integration.conversations_client import created, said
from tests.integration.engine_rig import BLOCK, engine_config
from tests.integration.real_server import settled
from tests.redis_server import RedisServer

pytest_plugins = ["tests.store_fixtures"]

SYSTEM = "You know a lot about rivers, and say what you know in few words. " * 16
SHORT = {"temperature": 0, "max_tokens": 70, "ignore_eos": True}
LEFT, RIGHT = "And which one is the widest? " * 10, "Tell me of lakes, please. " * 10


@pytest.fixture
async def server(
    shallow_model: Path, tmp_path: Path, redis_server: RedisServer
) -> AsyncIterator[RunningServer[AsyncLLMEngine]]:
    config = engine_config(shallow_model, tmp_path / "state", blocks=80, redis_url=f"unix://{redis_server.socket}")
    engine = await asyncio.to_thread(build_engine, config, print)
    async with running_server(tmp_path, engine) as running:
        yield running


@pytest.fixture
async def http(server: RunningServer[AsyncLLMEngine]) -> AsyncIterator[aiohttp.ClientSession]:
    async with api_client(server.url) as session:
        yield session


async def computed(store: Store) -> tuple[int, int, int]:
    """Count the full blocks on the paths of all answers: summed per path, distinct, and the number of answers."""
    alone, shared, answers = 0, set[tuple[int, ...]](), 0
    async for conversation, _ in store.conversations.each():
        for message in await store.messages.all_of(conversation.id):
            if message.run_id is None:
                continue
            path = await store.messages.path(message.id)
            ids = joined_ids(path, message.tokens.prompt_key)
            assert ids is not None
            # KV is never computed for the last token of an answer.
            full = [tuple(ids[: end * BLOCK]) for end in range(1, (len(ids) - 1) // BLOCK + 1)]
            alone, shared, answers = alone + len(full), shared | set(full), answers + 1
    return alone, len(shared), answers


async def test_every_tier_holds_common_prefix_once(
    server: RunningServer[AsyncLLMEngine], http: aiohttp.ClientSession, redis_server: RedisServer
) -> None:
    conversation = await created(http, system_prompt=SYSTEM, params=SHORT)
    first = await said(http, conversation, "Which river is the longest?")
    left = await said(http, conversation, LEFT)
    right = await said(http, conversation, RIGHT, parent_id=first["id"])
    forked = await http.post(f"/api/conversations/{conversation}/fork", json={"message_id": first["id"]})
    of_fork = await said(http, (await forked.json())["id"], LEFT + RIGHT)
    again = await http.post(f"/api/conversations/{conversation}/fork", json={"message_id": right["id"]})
    of_other = await said(http, (await again.json())["id"], "And in the sea?")

    until_first = first["usage"]["total_tokens"] - 1
    for answer, beginning in (
        (left, until_first),
        (right, until_first),
        (of_fork, until_first),
        (of_other, right["usage"]["total_tokens"] - 1),
    ):
        kv = answer["usage"]["kv"]
        assert beginning // BLOCK * BLOCK <= kv["device"] + kv["cpu"] + kv["redis"]

    alone, shared, answers = await computed(server.services.store)
    assert alone > shared + 3 * (until_first // BLOCK)
    await settled(server.engine)
    stats = server.engine.stats()
    assert stats.tiers.store is not None
    with redis_server.client() as client:
        in_redis = sum(1 for _ in client.scan_iter(b"ebb:kv:*"))
    # Each answer may leave one partly filled block behind.
    for held in (stats.blocks.cached, stats.tiers.store.cpu.used_bytes / stats.blocks.nbytes, in_redis):
        assert shared <= held <= shared + answers
