"""One cluster for all tests, with three replicas, and one engine in this process to compare with."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from engine.async_llm import AsyncLLMEngine
from engine.build import build_engine
from engine.config import EngineConfig
from engine.fleet import ray_cluster as ray_connection
from engine.fleet.build import build_fleet
from engine.fleet.remote_engine import RemoteEngine
from tests.integration.engine_rig import MIB, engine_config
from tests.ray.cluster import RayCluster, ray_cluster
from tests.redis_server import RedisServer, free_port


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayCluster]:
    # Ray's sockets have long names, and the path of a socket is limited to 107 bytes.
    folder = tmp_path_factory.mktemp("r", numbered=False)
    with ray_cluster(folder) as running:
        yield running


@pytest.fixture(scope="session")
def config(shallow_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineConfig]:
    """Return the configuration of one engine, with a Redis of its own."""
    folder = tmp_path_factory.mktemp("fleet")
    redis = RedisServer(folder, port=free_port())
    url = f"redis://127.0.0.1:{redis.port}"
    yield engine_config(shallow_model, folder / "state", blocks=60, cpu_memory=64 * MIB, redis_url=url)
    redis.kill()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def fleet(config: EngineConfig, cluster: RayCluster) -> AsyncIterator[RemoteEngine]:
    """Run three replicas, one on each machine. A test that kills one must wait for its next epoch."""
    engine = await asyncio.to_thread(build_fleet, config, 3, lambda _: None, cluster.address)
    await engine.start()
    yield engine
    with pytest.MonkeyPatch.context() as patch:
        # The last test has killed the head, so nothing answers the farewell.
        patch.setattr(ray_connection, "LEAVE_SECONDS", 0.1)
        await engine.stop(0.0)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def alone(config: EngineConfig) -> AsyncIterator[AsyncLLMEngine]:
    """Run one engine without tiers in this process."""
    engine = await asyncio.to_thread(build_engine, replace(config, tiers=None), lambda _: None)
    await engine.start()
    yield engine
    await engine.stop(0.0)
