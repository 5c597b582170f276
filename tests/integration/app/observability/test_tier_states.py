"""Tier states in /health and /metrics, with the real engine and a real Redis."""

import asyncio
from pathlib import Path

import aiohttp
import pytest
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from engine.loop.async_llm import AsyncLLMEngine
from engine.offload.connector import OffloadConnector
from tests.integration.engine_rig import block_nbytes, engine_config
from tests.integration.real_server import serving, settled
from tests.redis_server import RedisServer
from tests.waiting import until

pytest_plugins = ["tests.store_fixtures"]
pytestmark = pytest.mark.usefixtures("patient_loads")

QUESTION = "Tell me about rivers, please. " * 40


async def ask(http: aiohttp.ClientSession, engine: AsyncLLMEngine, question: str = QUESTION) -> None:
    """Ask a question, and wait until the blocks have been stored in the lower tiers."""
    asked = [{"role": "user", "content": question}]
    # A marked prompt is written at once.
    body = {"messages": asked, "max_tokens": 2, "model": "smollm2", "prompt_cache_key": "tiers"}
    assert (await http.post("/v1/chat/completions", json=body)).status == 200
    await settled(engine)


async def states(http: aiohttp.ClientSession) -> dict[str, str]:
    tiers = (await (await http.get("/health")).json())["tiers"]
    return {tier: body["state"] for tier, body in tiers.items()}


async def metrics(http: aiohttp.ClientSession) -> dict[str, Metric]:
    text = await (await http.get("/metrics")).text()
    return {family.name: family for family in text_string_to_metric_families(text)}


def by_tier(family: Metric, suffix: str = "") -> dict[str, float]:
    return {s.labels["tier"]: s.value for s in family.samples if s.name == family.name + suffix}


async def test_hits_and_times_are_counted_by_tier(
    shallow_model: Path, tmp_path: Path, redis_server: RedisServer
) -> None:
    config = engine_config(shallow_model, tmp_path / "state", redis_url=f"unix://{redis_server.socket}")
    async with serving(config, tmp_path) as (http, engine):
        await ask(http, engine)
        assert await states(http) == {
            "device": "ok",
            "cpu": "ok",
            "redis": "ok",
            "disk": "off: --disk-kv-size 0",
        }
        families = await metrics(http)
        asked = by_tier(families["ebb_tier_asked_tokens"], "_total")
        assert asked["device"] == asked["cpu"] == asked["redis"] > 0
        assert by_tier(families["ebb_tier_found_tokens"], "_total") == {"device": 0, "cpu": 0, "redis": 0}
        stored = by_tier(families["ebb_tier_store_seconds"], "_count")
        assert stored["redis"] == stored["cpu"] > 0
        assert by_tier(families["ebb_tier_lookup_seconds"], "_count") == {"redis": 1, "disk": 0}
        assert set(by_tier(families["ebb_tier_used_bytes"])) == {"device", "cpu", "redis"}
        engine._engine.core.scheduler.blocks.pool.forget_free()
        await ask(http, engine)
        families = await metrics(http)
        again, found = (by_tier(families[f"ebb_tier_{name}_tokens"], "_total") for name in ("asked", "found"))
        assert again["cpu"] == 2 * asked["cpu"]
        assert found["cpu"] > 0
        assert again["redis"] == again["cpu"] - found["cpu"], (
            "Redis must be asked for exactly the blocks that the CPU tier lacks"
        )
        assert by_tier(families["ebb_tier_load_seconds"], "_count") == {"cpu": 1, "redis": 0, "disk": 0}
        assert {families[f"ebb_tier_{name}_seconds"].type for name in ("load", "store", "lookup")} == {"histogram"}
        assert families["ebb_tier_asked_tokens"].type == families["ebb_tier_found_tokens"].type == "counter"


async def test_health_reports_how_long_a_dead_redis_is_left_alone(
    shallow_model: Path, tmp_path: Path, redis_server: RedisServer
) -> None:
    config = engine_config(shallow_model, tmp_path / "state", redis_url=f"unix://{redis_server.socket}")
    async with serving(config, tmp_path) as (http, engine):
        await ask(http, engine)
        redis_server.kill()
        await ask(http, engine, "Something else. " * 60)
        state = (await states(http))["redis"]
        assert state.startswith("not used ")
        assert "Redis" in state.partition(": ")[2], "the state must give the reason"
        assert (await metrics(http))["ebb_redis_up"].samples[0].value == 0
        redis_server.start()


async def test_health_quotes_a_full_redis_that_refuses_writes(shallow_model: Path, tmp_path: Path) -> None:
    redis_server = RedisServer(tmp_path, "--maxmemory", "1mb", "--maxmemory-policy", "noeviction")
    try:
        config = engine_config(shallow_model, tmp_path / "state", redis_url=f"unix://{redis_server.socket}")
        async with serving(config, tmp_path) as (http, engine):
            await ask(http, engine)
            state = (await states(http))["redis"]
            assert state.startswith("refuses writes, blocks are still read from it: SET: OOM")
            families = await metrics(http)
            assert families["ebb_redis_up"].samples[0].value == 1
            assert families["ebb_redis_accepts_writes"].samples[0].value == 0
    finally:
        redis_server.kill()


async def test_disabled_tier_names_its_setting(shallow_model: Path, tmp_path: Path) -> None:
    config = engine_config(shallow_model, tmp_path / "state", cpu_memory=0, redis_url="off")
    async with serving(config, tmp_path) as (http, _):
        assert await states(http) == {
            "device": "ok",
            "cpu": "off: --cpu-kv-memory 0",
            "redis": "off: --redis-url off",
            "disk": "off: --disk-kv-size 0",
        }
        assert set(by_tier((await metrics(http))["ebb_tier_asked_tokens"], "_total")) == {"device"}


async def test_full_cpu_tier_reports_the_number_of_waiting_blocks(
    shallow_model: Path, tmp_path: Path, redis_server: RedisServer
) -> None:
    """Lock every stored block for reading, so that none can be evicted."""
    config = engine_config(
        shallow_model,
        tmp_path / "state",
        cpu_memory=9 * block_nbytes(shallow_model) // 2,
        redis_url=f"unix://{redis_server.socket}",
    )
    async with serving(config, tmp_path) as (http, engine):
        await ask(http, engine)
        scheduler = engine._engine.core.scheduler
        assert isinstance(scheduler.connector, OffloadConnector)
        store = scheduler.connector.tiers.store
        held = [key for key in scheduler.blocks.pool._by_key if store.contains(key)]
        for key in held:
            assert store.poll(store.prefetch([key], lower=False)) is not None
        body = {"model": "smollm2", "prompt": "Something else. " * 60, "max_tokens": 2}
        assert (await http.post("/v1/completions", json=body)).status == 200
        await asyncio.to_thread(until, lambda: engine.stats().tiers.stores_refused)
        assert (await states(http))["cpu"].startswith("full: accepts no more blocks at the moment; ")
        store.release(held)
