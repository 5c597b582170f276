"""One cluster for all tests, and one engine in this process to compare with.

The tests' replicas have the cluster one after another. A fixture begins the start of the next ones once its own serve.
The order is that of the files: two stages, one stage and two stages of two ranks, shared replicas, three replicas.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AsyncExitStack, ExitStack
from functools import partial
from pathlib import Path

import pytest
import pytest_asyncio

from cache_tiers.config import TierConfig
from engine.config import CacheConfig, EngineConfig, ModelConfig
from engine.fleet.build import build_fleet
from engine.fleet.placement import ray_cluster as ray_connection
from engine.fleet.remote_engine import RemoteEngine
from engine.loop.async_llm import AsyncLLMEngine
from engine.wiring.build import build_engine
from tests.integration.engine_rig import BLOCK, MIB, engine_config
from tests.ray.ahead import Ahead
from tests.ray.cluster import RayCluster, ray_cluster
from tests.ray.servers import sharing_servers
from tests.redis_server import RedisServer, free_port

DEVICE_BLOCKS = 14
"""Room for two prompts of test_pipeline.py and their answers."""
BLOCK_NBYTES = 2 * 2 * 2 * 16 * BLOCK * 4


@pytest.fixture(scope="session")
def opening(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Future[RayCluster]]:
    """Begin to start the cluster."""
    # Ray's sockets have long names, and the path of a socket is limited to 107 bytes.
    folder = tmp_path_factory.mktemp("r", numbered=False)
    with ExitStack() as closing, ThreadPoolExecutor(1) as threads:
        yield threads.submit(closing.enter_context, ray_cluster(folder))


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def at_end() -> AsyncIterator[AsyncExitStack]:
    """Return a stack for what ends while later tests run."""
    async with AsyncExitStack() as stack:
        yield stack


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def alone(opening: Future[RayCluster], config: EngineConfig) -> AsyncIterator[AsyncLLMEngine]:
    """Run one engine without tiers in this process, which is built while the cluster starts."""
    engine = await asyncio.to_thread(build_engine, config.with_fields(tiers=None), lambda _: None)
    await engine.start()
    yield engine
    await engine.stop(0.0)


@pytest.fixture(scope="session")
def cluster(opening: Future[RayCluster], alone: AsyncLLMEngine) -> RayCluster:
    return opening.result()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def connected(cluster: RayCluster) -> AsyncIterator[None]:
    """Connect this process to the cluster. All gateways in it have this one connection."""
    await asyncio.to_thread(ray_connection.connect, cluster.address)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ray_connection, "connect", lambda _: None)
        patch.setattr(ray_connection, "disconnect", lambda: None)
        yield
    await asyncio.to_thread(ray_connection.disconnect)
    # The last test has killed the head. A process that ends while a thread of it leaves the cluster may crash.
    assert "leave-ray" not in {thread.name for thread in threading.enumerate()}


@pytest.fixture(scope="session")
def config(shallow_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineConfig]:
    """Return the configuration of one engine, with a separate Redis."""
    folder = tmp_path_factory.mktemp("fleet")
    redis = RedisServer(folder, port=free_port())
    url = f"redis://127.0.0.1:{redis.port}"
    yield engine_config(shallow_model, folder / "state", blocks=60, cpu_memory=64 * MIB, redis_url=url)
    redis.kill()


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> EngineConfig:
    """Return the configuration of an engine whose model can be split, without tiers below the device."""
    # Imported late, since it imports torch.
    from tests.tiny_models import make_tiny_model

    model = make_tiny_model(tmp_path_factory.mktemp("tiny") / "model", seed=3)
    return EngineConfig(
        model=ModelConfig(path=model, name="tiny", dtype="float32"),
        cache=CacheConfig(tiers=None, secret=b"a secret of the tests", kv_memory=1 << 24),
    )


@pytest.fixture(scope="session")
def staged(tiny: EngineConfig, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineConfig]:
    """Return the configuration of an engine with two stages, and a separate Redis."""
    folder = tmp_path_factory.mktemp("staged")
    redis = RedisServer(folder, port=free_port())
    yield tiny.with_fields(
        tiers=TierConfig(64 * MIB, f"redis://127.0.0.1:{redis.port}", 0, folder),
        kv_memory=DEVICE_BLOCKS * BLOCK_NBYTES,
        prompt_lookup=False,
        pipeline_parallel_size=2,
    )
    redis.kill()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def ahead(
    config: EngineConfig,
    tiny: EngineConfig,
    staged: EngineConfig,
    cluster: RayCluster,
    connected: None,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[Ahead]:
    """Prepare the starts of all replicas, and begin the first one."""
    assert config.cache.tiers is not None
    pair, folder = tiny.with_fields(tensor_parallel_size=2), tmp_path_factory.mktemp("servers")
    start = partial(_started, cluster.address)
    ahead = Ahead(
        {
            "two stages": partial(start, staged, 1),
            "one stage of two ranks": partial(start, pair, 1),
            "two stages of two ranks": partial(start, pair.with_fields(pipeline_parallel_size=2), 1),
            "shared": partial(
                sharing_servers, cluster.address, folder, config.model.path, config.cache.tiers.redis_url
            ),
            "three": partial(start, config, 3),
        }
    )
    ahead.begin("two stages")
    yield ahead
    await ahead.end_all_but()


async def _started(address: str, config: EngineConfig, count: int, closing: AsyncExitStack) -> RemoteEngine:
    """Start `count` replicas with a gateway."""
    engine = await asyncio.to_thread(build_fleet, config, count, lambda _: None, address)
    closing.push_async_callback(engine.stop, 0.0)
    await engine.start()
    return engine


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def fleet(ahead: Ahead) -> RemoteEngine:
    """Return the gateway of three replicas, one on each machine.

    A test that kills one must wait for its next epoch.
    """
    engine: RemoteEngine = await ahead.started("three")
    return engine
