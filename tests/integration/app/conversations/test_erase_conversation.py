"""Erasure of a deleted conversation's blocks from Redis, with the real engine behind the real server."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from engine.loop.async_llm import AsyncLLMEngine
from engine.wiring.build import build_engine
from models.chat.format import Message
from tests.integration.api_server import RunningServer, api_client, running_server
from tests.integration.engine_rig import BLOCK, engine_config
from tests.integration.sse_events import all_events, events
from tests.redis_server import RedisServer
from tests.waiting import until

pytest_plugins = ["tests.store_fixtures"]

SYSTEM = "You know a lot about rivers, and say what you know in few words. " * 12
QUESTIONS = ("Which one is the longest of all? " * 8, "And which one is the widest? " * 8)
CALM = {"temperature": 0, "max_tokens": 70, "ignore_eos": True}


@pytest.fixture
async def server(
    shallow_model: Path, tmp_path: Path, redis_server: RedisServer
) -> AsyncIterator[RunningServer[AsyncLLMEngine]]:
    config = engine_config(shallow_model, tmp_path / "state", blocks=60, redis_url=f"unix://{redis_server.socket}")
    engine = await asyncio.to_thread(build_engine, config, print)
    async with running_server(tmp_path, engine) as running:
        yield running


@pytest.fixture
async def http(server: RunningServer[AsyncLLMEngine]) -> AsyncIterator[aiohttp.ClientSession]:
    async with api_client(server.url) as session:
        yield session


async def chat(http: aiohttp.ClientSession) -> str:
    """Create a conversation and return its id."""
    made = await (await http.post("/api/conversations", json={"system_prompt": SYSTEM, "params": CALM})).json()
    return str(made["id"])


async def ask(http: aiohttp.ClientSession, conversation_id: str, content: str) -> dict[str, Any]:
    """Send a message and return the answer."""
    response = await http.post(f"/api/conversations/{conversation_id}/messages", json={"content": content})
    message: dict[str, Any] = (await all_events(response))[-1].data["message"]
    return message


async def retried(http: aiohttp.ClientSession, answer: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
    """Return another answer to the question of `answer`."""
    response = await http.post(f"/api/messages/{answer['id']}/retry", json=body)
    assert response.status == 200, await response.text()
    message: dict[str, Any] = (await all_events(response))[-1].data["message"]
    return message


async def settled(server: RunningServer[AsyncLLMEngine], redis_server: RedisServer) -> set[bytes]:
    """Wait until no write to Redis is pending, and return the keys of the blocks in Redis."""
    await asyncio.to_thread(until, lambda: server.engine.is_idle and not _pending(server.engine), timeout=60)
    return in_redis(redis_server)


def _pending(engine: AsyncLLMEngine) -> int:
    tiers = engine.stats().tiers.store
    assert tiers is not None
    return tiers.pending_writes


def in_redis(redis_server: RedisServer) -> set[bytes]:
    with redis_server.client() as client:
        return set(client.scan_iter(b"ebb:kv:*"))


async def test_deletion_keeps_only_blocks_shared_with_other_chats(
    server: RunningServer[AsyncLLMEngine], http: aiohttp.ClientSession, redis_server: RedisServer
) -> None:
    other = await chat(http)
    await ask(http, other, QUESTIONS[1])
    of_other = await settled(server, redis_server)
    mine = await chat(http)
    for content in QUESTIONS:
        answer = await ask(http, mine, content)
    again: dict[str, Any] = {"params": {"max_tokens": 40}}
    with_own_instructions: dict[str, Any] = {"params": {"system_prompt": "You know a lot about the sea. " * 12}}
    other_answer = await retried(http, answer, again)
    await retried(http, answer, with_own_instructions)
    await retried(http, answer, {"merge": [answer["id"], other_answer["id"]]})
    assert len(await settled(server, redis_server)) > len(of_other) + 4

    assert (await http.delete(f"/api/conversations/{mine}?permanently=true")).status == 204
    await asyncio.to_thread(until, lambda: in_redis(redis_server) == of_other)

    repeated = await ask(http, await chat(http), QUESTIONS[0])
    render = server.engine.chat_format.render
    shared = _num_common(*(render([Message("system", SYSTEM), Message("user", q)]) for q in QUESTIONS))
    assert shared // BLOCK * BLOCK <= repeated["usage"]["kv"]["device"] <= shared
    assert repeated["usage"]["kv"]["cpu"] == repeated["usage"]["kv"]["redis"] == 0
    assert (await ask(http, other, QUESTIONS[0]))["usage"]["kv"]["computed"] < 2 * BLOCK


async def test_conversation_deleted_during_a_run_leaves_no_blocks(
    server: RunningServer[AsyncLLMEngine], http: aiohttp.ClientSession, redis_server: RedisServer
) -> None:
    conversation = await chat(http)
    response = await http.post(f"/api/conversations/{conversation}/messages", json={"content": QUESTIONS[0]})
    stream = events(response)
    for _ in range(5):
        await anext(stream)
    assert (await http.delete(f"/api/conversations/{conversation}?permanently=true")).status == 204
    await asyncio.to_thread(until, lambda: server.engine.is_idle and not _pending(server.engine), timeout=60)
    await asyncio.to_thread(until, lambda: not in_redis(redis_server))
    assert server.engine.stats().blocks.cached == 0
    assert (await ask(http, await chat(http), QUESTIONS[0]))["usage"]["kv"]["device"] == 0


async def test_conversation_is_deleted_at_once_while_redis_hangs(
    server: RunningServer[AsyncLLMEngine], http: aiohttp.ClientSession, redis_server: RedisServer
) -> None:
    conversation = await chat(http)
    await ask(http, conversation, QUESTIONS[0])
    redis_server.freeze()
    assert (await http.delete(f"/api/conversations/{conversation}?permanently=true")).status == 204
    assert (await http.get(f"/api/conversations/{conversation}")).status == 404
    await asyncio.to_thread(until, lambda: server.engine.stats().blocks.cached == 0)


def _num_common(one: list[int], other: list[int]) -> int:
    return next(at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
