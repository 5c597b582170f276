"""Blocks that are erased while the engine stops: they are in no tier afterwards."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from cache_tiers.owners.block_key import BlockKey
from cache_tiers.redis.backend import REDIS
from cache_tiers.redis.keys import redis_key
from cache_tiers.redis.resp import Timeouts
from engine.api.generate_request import GenerateRequest
from engine.api.sampling_params import SamplingParams
from engine.api.stored_tokens import Trail
from engine.loop import async_llm
from engine.loop.async_llm import AsyncLLMEngine
from engine.wiring.build import build_engine
from tests.integration.engine_rig import BLOCK, engine_config
from tests.redis_server import RedisServer

pytest_plugins = ["tests.store_fixtures"]

SECONDS = 120.0
DELETED = [500 + at for at in range(3 * BLOCK)]
KEPT = [900 + at for at in range(3 * BLOCK)]
SHORT = SamplingParams(temperature=0.0, max_tokens=1)
LONG = SamplingParams(temperature=0.0, max_tokens=100, ignore_eos=True)


@pytest.fixture
async def engine(
    shallow_model: Path, tmp_path: Path, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> AsyncLLMEngine:
    """Run an engine with every tier, which the test stops, and which waits for Redis longer than any pause here."""
    monkeypatch.setattr(Timeouts.__init__, "__defaults__", (SECONDS, SECONDS, SECONDS))
    config = engine_config(shallow_model, tmp_path / "state", redis_url=f"unix://{redis_server.socket}")
    engine = await asyncio.to_thread(build_engine, config, print)
    await engine.start()
    return engine


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(SECONDS):
        # Tiers have no event that a test can wait for.
        while not is_so():  # noqa: ASYNC110
            await asyncio.sleep(0.001)


async def compute(engine: AsyncLLMEngine, prompt: list[int], params: SamplingParams) -> int:
    """Generate an answer to a prompt, and return the number of its tokens."""
    [stream] = await engine.generate(GenerateRequest(prompt_token_ids=prompt, params=params))
    return sum([len(output.token_ids) async for output in stream])


def num_pending(engine: AsyncLLMEngine) -> int:
    tiers = engine.stats().tiers.store
    assert tiers is not None
    return tiers.lower[REDIS.id].pending_writes


def in_redis(redis_server: RedisServer, engine: AsyncLLMEngine, prompt: list[int]) -> list[bool]:
    """Return for each full block of a prompt whether Redis has it."""
    with redis_server.client() as client:
        return [bool(client.exists(redis_key(key))) for key in engine.keys.of(prompt, "local")]


async def test_erasure_while_answers_end_reaches_every_tier(engine: AsyncLLMEngine, redis_server: RedisServer) -> None:
    for prompt in (DELETED, KEPT):
        await compute(engine, prompt, SHORT)
    await until(lambda: all(in_redis(redis_server, engine, DELETED) + in_redis(redis_server, engine, KEPT)))
    answer = asyncio.create_task(compute(engine, DELETED[::-1], LONG))
    await until(lambda: engine.stats().requests.running > 0)
    stopping = asyncio.create_task(engine.stop(SECONDS))
    await asyncio.sleep(0)
    assert await engine.erase(await keys_of(engine, DELETED))
    await stopping
    assert await answer == LONG.max_tokens
    assert in_redis(redis_server, engine, DELETED) == [False] * 3
    assert in_redis(redis_server, engine, KEPT) == [True] * 3


async def test_block_erased_during_the_flush_is_not_in_redis(
    engine: AsyncLLMEngine, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with redis_server.client() as client:
        client.client_pause(60_000, all=False)
        for prompt in (DELETED, KEPT):
            await compute(engine, prompt, SHORT)
        stopping = asyncio.create_task(engine.stop(SECONDS))
        assert engine._loop.task is not None
        await asyncio.wait([engine._loop.task])
        # All blocks are on their way to Redis, which takes no writes.
        assert num_pending(engine) >= 6
        # The erasure looks at its result only after the engine has ended.
        monkeypatch.setattr(async_llm, "STALLED_POLL_SECONDS", 0.5)
        erasing = asyncio.create_task(engine.erase(await keys_of(engine, DELETED)))
        await until(lambda: is_erasing(engine))
        monkeypatch.setattr(async_llm, "STALLED_POLL_SECONDS", 0.001)
        client.client_unpause()
    await stopping
    assert await erasing
    assert in_redis(redis_server, engine, DELETED) == [False] * 3
    assert in_redis(redis_server, engine, KEPT) == [True] * 3


async def test_erasure_says_whether_redis_has_made_it(engine: AsyncLLMEngine, redis_server: RedisServer) -> None:
    keys = await keys_of(engine, DELETED)
    await compute(engine, DELETED, SHORT)
    await until(lambda: all(in_redis(redis_server, engine, DELETED)))
    with redis_server.client() as client:
        client.config_set("min-replicas-to-write", 1)
        assert not await engine.erase(keys)
        assert in_redis(redis_server, engine, DELETED) == [True] * 3
        client.config_set("min-replicas-to-write", 0)
    await until(lambda: not redis_refusal(engine))
    assert await engine.erase(keys)
    assert in_redis(redis_server, engine, DELETED) == [False] * 3


async def test_repeated_erasure_leaves_blocks_that_are_used_again(
    engine: AsyncLLMEngine, redis_server: RedisServer
) -> None:
    keys = await keys_of(engine, DELETED)
    await compute(engine, DELETED, SHORT)
    await until(lambda: all(in_redis(redis_server, engine, DELETED)))
    with redis_server.client() as client:
        client.config_set("min-replicas-to-write", 1)
        assert not await engine.erase(keys)
        # Another chat begins with the first two of three blocks.
        await compute(engine, DELETED[: 2 * BLOCK], SHORT)
        assert not await engine.erase(keys, again=True)
        client.config_set("min-replicas-to-write", 0)
    await until(lambda: not redis_refusal(engine))
    assert await engine.erase(keys, again=True)
    assert in_redis(redis_server, engine, DELETED) == [True, True, False]
    assert engine.stats().blocks.cached >= 2
    # Once that chat is deleted as well, nothing is left.
    assert await engine.erase(keys)
    assert in_redis(redis_server, engine, DELETED) == [False] * 3


async def keys_of(engine: AsyncLLMEngine, prompt: list[int]) -> list[BlockKey]:
    """Return the keys of the blocks of a prompt that was answered."""
    return await engine.keys_of_trails([Trail(prompt, 0, [len(prompt)])])


def is_erasing(engine: AsyncLLMEngine) -> bool:
    tiers = engine._engine.core.scheduler.connector.tiers
    assert tiers is not None
    return tiers.is_erasing


def redis_refusal(engine: AsyncLLMEngine) -> str:
    tiers = engine.stats().tiers.store
    assert tiers is not None
    return tiers.lower[REDIS.id].refusal
