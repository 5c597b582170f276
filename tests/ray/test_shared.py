"""Two gateways that share replicas on the machines of a cluster: both follow when Ray starts the next epoch."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from engine.async_llm import AsyncLLMEngine
from engine.fleet.remote_engine import RemoteEngine
from tests.integration.engine.fleet.answers import KINDS, answers_alone, begun_of_all_kinds, told, until_states
from tests.ray.ahead import Ahead
from tests.waiting import until

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def gateways(ahead: Ahead) -> AsyncIterator[list[RemoteEngine]]:
    """Return two gateways on two replicas, which end with the last gateway."""
    engines = await ahead.gateways("shared")
    await asyncio.gather(*(until_states(each, "ok", "ok") for each in engines))
    yield engines
    pids = [each.pid for each in engines[0].stats().replicas]
    # No earlier, since the next epoch of a shared replica needs its machine.
    ahead.begin("three")
    await ahead.end("shared")
    for pid in pids:
        await asyncio.to_thread(until, lambda gone=pid: not Path(f"/proc/{gone}").exists())


def is_replica_actor(pid: int | None) -> bool:
    return b"ray::ReplicaActor" in Path(f"/proc/{pid}/cmdline").read_bytes()


async def test_both_gateways_follow_to_the_next_epoch(gateways: list[RemoteEngine], alone: AsyncLLMEngine) -> None:
    begun = [await begun_of_all_kinds(engine, 1200 + 100 * at) for at, engine in enumerate(gateways)]
    before = [each.stats().replicas for each in gateways]
    assert [each.pid for each in before[0]] == [each.pid for each in before[1]]
    assert all(is_replica_actor(each.pid) for each in before[0])
    # Each gateway divides its answers by the speeds that it measured, so the busier replica is either one.
    hit = max((each for replicas in before for each in replicas), key=lambda each: each.answers)
    assert hit.answers
    os.kill(hit.pid or 0, signal.SIGKILL)
    for at, kinds in enumerate(begun):
        got = [[told(await reader.whole()) for reader in readers] for readers in kinds]
        alike = await answers_alone(alone, 1200 + 100 * at)
        for kind, here, expected in zip(KINDS, got, alike, strict=True):
            assert here == expected, kind
    after = await asyncio.gather(*(until_states(each, "ok", "ok") for each in gateways))
    mine, theirs = (replicas[hit.index] for replicas in after)
    assert mine.epoch == theirs.epoch > hit.epoch
    assert mine.pid == theirs.pid != hit.pid
