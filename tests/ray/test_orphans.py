"""Actors whose gateway vanishes before it has sent the order. They are plain processes here, without a cluster."""

import asyncio
import sys

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="session")

SCRIPT = """
import asyncio
import sys
from pathlib import Path
from engine.config import CacheConfig, EngineConfig, ModelConfig
from engine.fleet.placement import ray_actor
from engine.fleet.placement.order import ReplicaOrder, encode_order
ray_actor.UNOPENED_SECONDS = 0.5
ray_actor._node = lambda: "a machine of the tests"
ray_actor._host = lambda: "127.0.0.1"
ray_actor._begin = lambda *_, **__: None
actor = ray_actor.ReplicaActor()
config = EngineConfig(model=ModelConfig(path=Path("model"), name="fake"), cache=CacheConfig(tiers=None, secret=b""))
order = encode_order(ReplicaOrder(config, 0, 1, b"", 0, (), "", 0, 0.005))
if sys.argv[1] == "opened":
    asyncio.run(actor.open(order, 1, actor._identity.certificate))
elif sys.argv[1] == "opened to all":
    asyncio.run(actor.open_to_all(order, 1, "name"))
actor._unopened.join(20)
"""


async def status_of(actor: str) -> int:
    """Return the exit status of the process of an actor, which ends normally unless the actor ends it."""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", SCRIPT, actor)
    async with asyncio.timeout(60):
        return await process.wait()


async def test_actor_ends_that_no_gateway_opens() -> None:
    assert await status_of("never opened") == 1


async def test_actor_stays_that_a_gateway_has_opened() -> None:
    assert list(await asyncio.gather(status_of("opened"), status_of("opened to all"))) == [0, 0]
