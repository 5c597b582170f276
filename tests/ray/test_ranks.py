"""A replica whose ranks are actors: the answers are those of plain processes."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from app.host.backend import Backend
from engine.build import build_engine
from engine.config import EngineConfig
from engine.fleet.build import build_fleet
from engine.fleet.remote_engine import RemoteEngine
from tests.integration.engine.fleet.answers import KINDS, Told, answers_of, prompt_of, reading, told
from tests.ray.cluster import RayCluster, machine_of
from tests.tiny_models import make_tiny_model

pytestmark = pytest.mark.asyncio(loop_scope="session")

PARAMS = [KINDS[kind] for kind in ("greedy", "seeded", "several")]
PROMPTS = [[3 + token % 250 for token in prompt_of(150, salt)] for salt in range(len(PARAMS))]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> EngineConfig:
    """Return the configuration of an engine of two ranks, without tiers below the device."""
    model = make_tiny_model(tmp_path_factory.mktemp("pair") / "model", seed=3)
    config = EngineConfig(model, "tiny", None, b"a secret of the tests", dtype="float32", kv_memory=1 << 24)
    return replace(config, tensor_parallel_size=2)


@pytest.fixture(scope="module", params=[1, 2], ids=["one stage", "two stages"])
def pair(plain: EngineConfig, request: pytest.FixtureRequest) -> EngineConfig:
    """Return the configuration of an engine with two ranks in each stage."""
    return replace(plain, pipeline_parallel_size=request.param)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def expected(plain: EngineConfig) -> list[list[Told]]:
    """Return the answers of plain processes in one stage. Stages change no bit of an answer."""
    engine = await asyncio.to_thread(build_engine, plain, lambda _: None)
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


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def ranks(pair: EngineConfig, cluster: RayCluster) -> AsyncIterator[RemoteEngine]:
    """Run one replica, whose ranks are actors."""
    engine = await asyncio.to_thread(build_fleet, pair, 1, lambda _: None, cluster.address)
    await engine.start()
    yield engine
    await engine.stop(0.0)


def is_rank_actor(pid: int | None) -> bool:
    return b"ray::RankActor" in Path(f"/proc/{pid}/cmdline").read_bytes()


async def test_ranks_on_ray_answer_as_processes_do(
    pair: EngineConfig, ranks: RemoteEngine, expected: list[list[Told]]
) -> None:
    workers = ranks.stats().workers
    assert workers is not None
    assert len(workers.pids) == pair.num_processes
    assert all(is_rank_actor(pid) for pid in workers.pids)
    machines = [machine_of(pid or 0) for pid in workers.pids]
    # The ranks of a stage share a machine, and no machine has room for two stages.
    assert machines[::2] == machines[1::2]
    assert len(set(machines)) == pair.pipeline_parallel_size
    assert await answers_to_all(ranks) == expected


@pytest.mark.parametrize("pair", [1], ids=["one stage"], indirect=True)
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
