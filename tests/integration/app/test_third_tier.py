"""A third tier, registered in one line: found in statistics, receipts, prefetches and metrics."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from cache_tiers.testing import DictKind
from cache_tiers.tier import Tier
from tests.dict_tier import registered
from tests.integration.conversations_client import created, read, said
from tests.integration.engine_rig import engine_config
from tests.integration.real_server import serving, settled
from tests.redis_server import RedisServer
from tests.waiting import until

pytest_plugins = ["tests.store_fixtures"]
pytestmark = pytest.mark.usefixtures("patient_loads")

TEXT = "Tell me about rivers, please. " * 40


@pytest.fixture
def kind() -> Iterator[DictKind]:
    """Register a third tier after Redis."""
    with registered(Tier("dict", "a dictionary")) as kind:
        yield kind


async def test_blocks_return_from_a_third_tier(shallow_model: Path, tmp_path: Path, kind: DictKind) -> None:
    config = engine_config(shallow_model, tmp_path / "state", redis_url="off")
    async with serving(config, tmp_path) as (http, engine):
        chat = await created(http)
        first = await said(http, chat, TEXT, params={"max_tokens": 2})
        await settled(engine)
        assert first["usage"]["kv"]["dict"] == 0
        assert kind.values
    async with serving(config, tmp_path) as (http, engine):
        places = await http.post("/api/places", json={"conversation_ids": [chat]})
        assert (await places.json())["data"] == [{"conversation_id": chat, "place": "dict"}]
        usage = (await said(http, chat, "And lakes?", params={"max_tokens": 2}))["usage"]
        kv, stats = usage["kv"], engine.stats()
        assert kv["dict"] >= 256
        assert kv["device"] + kv["cpu"] + kv["redis"] == 0
        assert kv["dict"] + kv["computed"] == usage["prompt_tokens"]
        assert kv["bytes"]["dict"] == kv["blocks_verified"] * stats.blocks.nbytes > 0
        assert stats.tokens.reused["dict"] == kv["dict"]
        tiers = (await read(http, "/health"))["tiers"]
        assert {tier: body["state"] for tier, body in tiers.items()} == {
            "device": "ok",
            "cpu": "ok",
            "redis": "off: --redis-url off",
            "disk": "off: --disk-kv-size 0",
            "dict": "ok",
        }
        metrics = await (await http.get("/metrics")).text()
    found = [line for line in metrics.splitlines() if "dict" in line and not line.startswith("#")]
    assert any(line.startswith('ebb_tier_used_bytes{tier="dict"}') for line in found)
    for expected in (
        f'ebb_prompt_tokens_total{{source="dict"}} {kv["dict"]}.0',
        f'ebb_tier_found_tokens_total{{tier="dict"}} {kv["dict"]}.0',
        "ebb_dict_up 1.0",
    ):
        assert expected in found


async def test_typing_prefetches_from_a_third_tier(
    shallow_model: Path, tmp_path: Path, kind: DictKind, redis_server: RedisServer
) -> None:
    config = engine_config(shallow_model, tmp_path / "state", redis_url=f"unix://{redis_server.socket}")
    async with serving(config, tmp_path) as (http, engine):
        chat = await created(http)
        await said(http, chat, TEXT, params={"max_tokens": 2})
        await settled(engine)
    with redis_server.client() as redis:
        assert redis.dbsize() == len(kind.values)
        redis.flushall()
    async with serving(config, tmp_path) as (http, engine):
        response = await http.post(f"/api/conversations/{chat}/warm")
        assert await response.json() == {"warming": True}
        await asyncio.to_thread(until, lambda: engine.stats().tiers.warmed > 0 and engine.is_idle)
        kv = (await said(http, chat, "And lakes?", params={"max_tokens": 2}))["usage"]["kv"]
        assert kv["redis"] == 0
        assert kv["computed"] < 128
