"""Prompts and answers apart: one replica computes prompts, and another one continues the answers."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from cache_tiers.redis.backend import REDIS
from cache_tiers.tier import CPU
from engine.config import EngineConfig
from engine.fleet.build import build_fleet
from engine.fleet.remote_engine import RemoteEngine
from engine.loop.async_llm import AsyncLLMEngine
from tests.integration.engine.fleet.answers import (
    GREEDY,
    KINDS,
    answers_alone,
    answers_of,
    begun_of_all_kinds,
    prompt_of,
    told,
    until_states,
)
from tests.redis_server import RedisServer
from tests.sizes import LARGE, MANY_PROCESSES

pytestmark = [pytest.mark.asyncio(loop_scope="package"), MANY_PROCESSES]

BLOCK = 64


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def apart(config: EngineConfig) -> AsyncIterator[RemoteEngine]:
    """Run a replica that computes prompts, and one that continues answers."""
    whole = config.with_fields(kv_memory=2 * config.cache.kv_memory)
    engine = await asyncio.to_thread(build_fleet, whole, 2, lambda _: None, roles=("prefill", "decode"))
    await engine.start()
    yield engine
    await engine.stop(0.0)


def loaded_blocks(engine: RemoteEngine) -> int:
    """Return how many blocks all replicas together have loaded from Redis."""
    tiers = engine.stats().tiers.store
    assert tiers is not None
    return tiers.lower[REDIS.id].loaded_blocks


async def until_beat(engine: RemoteEngine) -> None:
    """Wait until each replica has sent its newest figures."""
    links = engine._keeper.ready
    before = [link.stats for link in links]
    async with asyncio.timeout(10.0):
        # Beats have no event that a test can wait for.
        while any(link.stats is former for link, former in zip(links, before, strict=True)):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_answers_of_all_kinds_are_handed_over(apart: RemoteEngine, alone: AsyncLLMEngine) -> None:
    await until_states(apart, "ok", "ok")
    begun = await begun_of_all_kinds(apart, 900)
    got = [[told(await reader.whole()) for reader in readers] for readers in begun]
    for kind, here, expected in zip(KINDS, got, await answers_alone(alone, 900), strict=True):
        assert here == expected, kind
    await until_beat(apart)
    prefill, decode = apart.stats().replicas
    assert (prefill.role, decode.role) == ("prefill", "decode")
    # No step of the replica that decodes ever had a row of a prompt.
    assert (prefill.prefilled_tokens > 0, decode.prefilled_tokens) == (True, 0)
    routes = apart.stats().routes
    assert routes is not None
    assert (routes.hand_overs, routes.takeovers) == (sum(count for _, count in KINDS.values()), 0)


@pytest.mark.parametrize("length", [2 * BLOCK - 1, 2 * BLOCK, 2 * BLOCK + 1], ids=["short", "whole", "over"])
async def test_blocks_of_a_prompt_arrive_whole(apart: RemoteEngine, alone: AsyncLLMEngine, length: int) -> None:
    await until_states(apart, "ok", "ok")
    await until_beat(apart)
    before, computed = loaded_blocks(apart), apart.stats().replicas[1].prefilled_tokens
    prompt = prompt_of(length, 950 + length)
    [here], [expected] = [await answers_of(each, prompt, GREEDY) for each in (apart, alone)]
    assert told(here) == told(expected)
    assert here.usage is not None
    # The receipt is that of the replica which computed the prompt.
    assert (here.usage.kv.computed, here.usage.kv.reused[CPU.id], here.usage.completion_tokens) == (length, 0, 150)
    await until_beat(apart)
    assert loaded_blocks(apart) - before == -(-length // BLOCK)
    assert apart.stats().replicas[1].prefilled_tokens == computed


async def test_without_redis_the_decoding_replica_computes_the_prompt(
    apart: RemoteEngine, alone: AsyncLLMEngine, redis: RedisServer
) -> None:
    await until_states(apart, "ok", "ok")
    await until_beat(apart)
    computed, prompt = apart.stats().replicas[1].prefilled_tokens, prompt_of(300, 980)
    redis.kill()
    try:
        [here] = await answers_of(apart, prompt, GREEDY)
    finally:
        redis.start()
    assert told(here) == told((await answers_of(alone, prompt, GREEDY))[0])
    await until_beat(apart)
    assert apart.stats().replicas[1].prefilled_tokens == computed + len(prompt)


@LARGE
@pytest.mark.parametrize("index", [0, 1], ids=["prompts", "answers"])
async def test_other_replica_stands_in_for_a_dead_one(apart: RemoteEngine, alone: AsyncLLMEngine, index: int) -> None:
    await until_states(apart, "ok", "ok")
    begun = await begun_of_all_kinds(apart, 1000 + 100 * index)
    os.kill(apart.stats().replicas[index].pid or 0, signal.SIGKILL)
    await until_states(apart, "ok", "starting")
    assert apart.stats().replicas[1 - index].serves_as == "both"
    prompt = prompt_of(150, 1090 + index)
    [[more], [expected]] = [await answers_of(each, prompt, GREEDY) for each in (apart, alone)]
    got = [[told(await reader.whole()) for reader in readers] for readers in begun]
    assert got == await answers_alone(alone, 1000 + 100 * index)
    assert told(more) == told(expected)
    states = await until_states(apart, "ok", "ok")
    assert [each.serves_as for each in states] == ["prefill", "decode"]
