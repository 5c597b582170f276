"""A replica whose ranks are actors: the answers are those of one process."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from app.host.backend import Backend
from engine.config import EngineConfig
from engine.fleet.remote_engine import RemoteEngine
from engine.wiring.build import build_engine
from tests.integration.engine.fleet.answers import KINDS, Told, answers_of, prompt_of, reading, told
from tests.ray.ahead import Ahead
from tests.ray.cluster import machine_of

pytestmark = pytest.mark.asyncio(loop_scope="session")

PARAMS = [
    (replace(params, max_tokens=60), count) for params, count in (KINDS[k] for k in ("greedy", "seeded", "several"))
]
PAIRS = {1: "one stage of two ranks", 2: "two stages of two ranks"}
"""Names of the replicas by the number of their stages."""
PROMPTS = [[3 + token % 250 for token in prompt_of(150, salt)] for salt in range(len(PARAMS))]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def expected(tiny: EngineConfig) -> list[list[Told]]:
    """Return the answers of one process. Neither ranks nor stages change a token of an answer."""
    engine = await asyncio.to_thread(build_engine, tiny, lambda _: None)
    await engine.start()
    answers = await answers_to_all(engine)
    await engine.stop(0.0)
    return answers


async def answers_to_all(engine: Backend) -> list[list[Told]]:
    """Return the answers to all prompts, which are computed at the same time."""
    whole = await asyncio.gather(
        *(answers_of(engine, prompt, *params) for prompt, params in zip(PROMPTS, PARAMS, strict=True))
    )
    return [[told(each) for each in outputs] for outputs in whole]


@pytest.fixture(scope="module", params=[1, 2], ids=["one stage", "two stages"])
def num_stages(request: pytest.FixtureRequest) -> int:
    num_stages: int = request.param
    return num_stages


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def ranks(num_stages: int, ahead: Ahead) -> AsyncIterator[RemoteEngine]:
    """Return the gateway of one replica with two ranks in each stage."""
    name = PAIRS[num_stages]
    engine: RemoteEngine = await ahead.started(name)
    ahead.begin(PAIRS[2] if num_stages == 1 else "shared")
    yield engine
    await ahead.end(name)


def is_rank_actor(pid: int | None) -> bool:
    return b"ray::RankActor" in Path(f"/proc/{pid}/cmdline").read_bytes()


async def test_ranks_on_ray_answer_as_one_process(
    num_stages: int, ranks: RemoteEngine, expected: list[list[Told]]
) -> None:
    workers = ranks.stats().workers
    assert workers is not None
    assert len(workers.pids) == 2 * num_stages
    assert all(is_rank_actor(pid) for pid in workers.pids)
    machines = [machine_of(pid or 0) for pid in workers.pids]
    # The ranks of a stage share a machine, and no machine has room for two stages.
    assert machines[::2] == machines[1::2]
    assert len(set(machines)) == num_stages
    assert await answers_to_all(ranks) == expected


@pytest.mark.parametrize("num_stages", [1], ids=["one stage"], indirect=True)
async def test_rank_that_dies_is_started_again_as_an_actor(ranks: RemoteEngine, expected: list[list[Told]]) -> None:
    workers = ranks.stats().workers
    assert workers is not None
    begun = [
        each for prompt, params in zip(PROMPTS, PARAMS, strict=True) for each in await reading(ranks, prompt, *params)
    ]
    for each in begun:
        await each.begun.wait()
    os.kill(workers.pids[1] or 0, signal.SIGKILL)
    whole = [told(await each.whole()) for each in begun]
    assert whole == [each for answers in expected for each in answers]
    [replica] = ranks.stats().replicas
    assert (replica.state, replica.restarts) == ("ok", 0)
