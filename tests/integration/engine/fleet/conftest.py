"""Two replicas of the engine, for all tests of the package, and one engine in this process to compare with."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from engine.config import EngineConfig
from engine.fleet.build import build_fleet
from engine.fleet.remote_engine import RemoteEngine
from engine.loop.async_llm import AsyncLLMEngine
from engine.wiring.build import build_engine
from tests.integration.engine_rig import MIB, engine_config
from tests.integration.forked_engines import forked_engines
from tests.redis_server import RedisServer

BLOCKS = 60


@pytest.fixture(scope="package")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """Run a Redis. A test that kills it must start it again."""
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    yield server
    server.kill()


@pytest.fixture(scope="package")
def config(shallow_model: Path, tmp_path_factory: pytest.TempPathFactory, redis: RedisServer) -> EngineConfig:
    """Return the configuration of one engine, with a separate Redis."""
    return engine_config(
        shallow_model,
        tmp_path_factory.mktemp("fleet") / "state",
        blocks=BLOCKS,
        cpu_memory=64 * MIB,
        redis_url=f"unix://{redis.socket}",
    )


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def fleet(config: EngineConfig) -> AsyncIterator[RemoteEngine]:
    """Run two replicas. A test that kills one must wait for its next epoch."""
    whole = config.with_fields(kv_memory=2 * config.cache.kv_memory)
    with forked_engines():
        engine = await asyncio.to_thread(build_fleet, whole, 2, lambda _: None)
        await engine.start()
        yield engine
        await engine.stop(0.0)


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def alone(config: EngineConfig) -> AsyncIterator[AsyncLLMEngine]:
    """Run one engine without tiers in this process."""
    engine = await asyncio.to_thread(build_engine, config.with_fields(tiers=None), lambda _: None)
    await engine.start()
    yield engine
    await engine.stop(0.0)
