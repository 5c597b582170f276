"""A replica whose stages are on two machines, each with its part of the tiers: the answers are those of one machine."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
import pytest_asyncio

from app.host.backend import Backend
from engine.api.generate_request import GenerateRequest
from engine.api.outputs import KVReceipt, RequestOutput
from engine.config import EngineConfig
from engine.fleet.remote_engine import RemoteEngine
from engine.wiring.build import build_engine
from tests.integration.engine.fleet.answers import KINDS, SECONDS, Reading, Told, told
from tests.integration.engine_rig import BLOCK
from tests.ray.ahead import Ahead
from tests.ray.cluster import machine_of

pytestmark = pytest.mark.asyncio(loop_scope="session")

PROMPTS = [[3 + (number * 31 + at * (number + 2)) % 250 for at in range(4 * BLOCK + 5)] for number in range(6)]
OTHERS = "others"
"""Tenant whose blocks another engine stores in Redis."""
PARAMS = [replace(KINDS[kind][0], max_tokens=20) for kind in ("greedy", "seeded", "penalties")]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def expected(staged: EngineConfig) -> list[Told]:
    """Return the answers of two stages on this machine, which leave their blocks in Redis for the tenant OTHERS."""
    engine = await asyncio.to_thread(build_engine, staged, lambda _: None)
    await engine.start()
    answers = [told(await answered(engine, number, OTHERS)) for number in range(len(PROMPTS))]
    await engine.stop(0.0)
    return answers


async def answered(engine: Backend, number: int, tenant: str = "local") -> RequestOutput:
    request = GenerateRequest(prompt_token_ids=PROMPTS[number], params=PARAMS[number % len(PARAMS)], tenant=tenant)
    [stream] = await engine.generate(request)
    return await Reading(stream).whole()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def engine(ahead: Ahead) -> AsyncIterator[RemoteEngine]:
    """Return the gateway of one replica, whose two stages need the CPUs of two machines."""
    engine: RemoteEngine = await ahead.started("two stages")
    ahead.begin("one stage of two ranks")
    yield engine
    await ahead.end("two stages")


def receipt_of(output: RequestOutput) -> KVReceipt:
    assert output.usage is not None
    return output.usage.kv


async def pids_of(engine: RemoteEngine, gone: int | None = None) -> tuple[int, int]:
    """Wait until the replica reports the processes of both stages, without `gone`, and return their ids."""
    async with asyncio.timeout(SECONDS):
        while True:
            workers = engine.stats().workers
            if workers is not None and not {None, gone} & set(workers.pids):
                first, second = workers.pids
                return first or 0, second or 0
            # A report has no event that a test can wait for.
            await asyncio.sleep(0.01)


async def test_stages_on_two_machines_restore_their_parts(engine: RemoteEngine, expected: list[Told]) -> None:
    first, second = await pids_of(engine)
    assert machine_of(first) != machine_of(second)
    for number, answer in enumerate(expected):
        output = await answered(engine, number)
        assert told(output) == answer
        assert receipt_of(output).cached == 0
    again = await answered(engine, 0)
    assert told(again) == expected[0]
    assert receipt_of(again).reused["cpu"] >= 4 * BLOCK

    # The new process of the second stage has no copy of what the old one stored.
    os.kill(second, signal.SIGKILL)
    # A request whose load is interrupted computes its prompt.
    assert told(await answered(engine, 4)) == expected[4]
    for number in (1, 2):
        restored = await answered(engine, number)
        assert told(restored) == expected[number]
        assert receipt_of(restored).reused["cpu"] >= 4 * BLOCK
    assert (await pids_of(engine, gone=second))[0] != first
    [replica] = engine.stats().replicas
    assert (replica.state, replica.restarts) == ("ok", 0)


async def test_stages_restore_from_redis_what_others_stored(engine: RemoteEngine, expected: list[Told]) -> None:
    output = await answered(engine, 3, OTHERS)
    assert told(output) == expected[3]
    assert receipt_of(output).reused["redis"] >= 4 * BLOCK
