"""Placement of a chat's KV and its prefetch while the user types, over HTTP with the real model and Redis."""

import asyncio
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from engine.loop.async_llm import AsyncLLMEngine
from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import RunningServer
from tests.integration.conversations_client import created, said
from tests.integration.engine_rig import BLOCK, engine_config
from tests.integration.real_server import cpu_cleared, serving, settled
from tests.redis_server import RedisServer
from tests.waiting import until

pytest_plugins = ["tests.store_fixtures"]
pytestmark = pytest.mark.usefixtures("patient_loads")

QUESTION = "The river rises in the hills, runs past the mill, and meets the sea at the harbour. " * 12
SHORT = {"max_tokens": 4, "temperature": 0}


async def warm(http: aiohttp.ClientSession, conversation: str) -> bool:
    """Send a prefetch hint for the conversation, and return whether any blocks are being prefetched."""
    response = await http.post(f"/api/conversations/{conversation}/warm")
    assert response.status == 202, await response.text()
    return bool((await response.json())["warming"])


async def places(http: aiohttp.ClientSession, *conversations: str) -> dict[str, str | None]:
    response = await http.post("/api/places", json={"conversation_ids": conversations})
    assert response.status == 200, await response.text()
    return {each["conversation_id"]: each["place"] for each in (await response.json())["data"]}


async def leave_only_in_redis(engine: AsyncLLMEngine) -> None:
    await settled(engine)
    await cpu_cleared(engine)


async def until_warm(engine: AsyncLLMEngine, num_blocks: int) -> None:
    """Wait until `num_blocks` blocks have been copied up to the device."""
    await asyncio.to_thread(until, lambda: engine.stats().tiers.copied_up == num_blocks)
    await settled(engine)


async def test_chat_without_its_first_messages_is_found_again(
    shallow_model: Path, tmp_path: Path, redis_server: RedisServer
) -> None:
    url = f"unix://{redis_server.socket}"
    config = engine_config(shallow_model, tmp_path / "state", blocks=60, redis_url=url)
    async with serving(config, tmp_path) as (http, engine):
        chat = await created(http, params=SHORT)
        await said(http, chat, QUESTION)
        cut = await said(http, chat, "And the harbour? " * 8, left_out=2)
        await leave_only_in_redis(engine)
        assert await places(http, chat) == {chat: "redis"}
    async with serving(config, tmp_path) as (http, engine):
        assert await warm(http, chat)
        num_full = cut["usage"]["prompt_tokens"] // BLOCK
        await until_warm(engine, num_full)
        following = await said(http, chat, "And the mill?")
    assert following["usage"]["kv"]["computed"] < 2 * BLOCK


async def test_hinted_chat_is_on_the_device_when_its_question_comes(
    shallow_model: Path, tmp_path: Path, redis_server: RedisServer
) -> None:
    url = f"unix://{redis_server.socket}"
    config = engine_config(shallow_model, tmp_path / "state", blocks=60, redis_url=url)
    async with serving(config, tmp_path) as (http, engine):
        chat, empty = await created(http, params=SHORT), await created(http)
        first = await said(http, chat, QUESTION)
        assert await places(http, chat, empty, "conv_of-nobody") == {chat: "device", empty: None}
        assert not await warm(http, chat), "a chat on the device needs no warming"

        await leave_only_in_redis(engine)
        assert (await places(http, chat))[chat] == "redis"
        assert await warm(http, chat)
        assert await warm(http, chat), "warming may be repeated during and after the load"
        num_full = first["usage"]["prompt_tokens"] // BLOCK
        await until_warm(engine, num_full + 1)
        assert (await places(http, chat))[chat] == "device"

        kv = (await said(http, chat, "And then?"))["usage"]["kv"]
        assert kv["redis"] == kv["cpu"] == 0
        assert kv["device"] > num_full * BLOCK, "the partial block must be on the device, too"
        assert kv["prefetched"] == {"redis": num_full * BLOCK, "disk": 0}
        assert "prefetched" not in (await said(http, chat, "And after that?"))["usage"]["kv"], "used once already"

        assert (await http.delete(f"/api/conversations/{chat}/warm")).status == 204


async def test_prefetched_prefix_is_the_prefix_of_the_next_prompt(
    api: RunningServer[ReplayEngine], http: aiohttp.ClientSession
) -> None:
    engine = api.engine
    chat = await created(http, system_prompt="Be brief.")
    first = await said(http, chat, "one")
    await said(http, chat, "two")
    assert await warm(http, chat)
    tenant, ids = engine.prefixes.warmed[chat]
    await said(http, chat, "three")
    computed = (*engine.requests[1].prompt, *engine.requests[1].produced)
    assert (tenant, tuple(ids)) == ("local", computed[:-1])
    assert engine.requests[2].prompt[: len(ids)] == tuple(ids)

    assert (await http.put(f"/api/conversations/{chat}/head", json={"message_id": first["id"]})).status == 200
    await said(http, chat, "another branch", parent_id=first["id"])
    assert await warm(http, chat)
    assert tuple(engine.prefixes.warmed[chat][1]) == (*engine.requests[3].prompt, *engine.requests[3].produced)[:-1]

    assert (await http.delete(f"/api/conversations/{chat}/warm")).status == 204
    assert chat not in engine.prefixes.warmed

    changed = await http.patch(f"/api/conversations/{chat}", json={"system_prompt": "Be long."})
    assert changed.status == 200
    await warm(http, chat)
    assert engine.prefixes.warmed[chat][1] == [], "a changed chat must render its next prompt again"


@pytest.mark.parametrize("body", [{}, {"conversation_ids": "x"}, {"conversation_ids": ["x"] * 101}])
async def test_invalid_places_request_is_refused_naming_the_field(http: aiohttp.ClientSession, body: Any) -> None:
    response = await http.post("/api/places", json=body)
    assert response.status == 400
    assert (await response.json())["error"]["param"] == "conversation_ids"
