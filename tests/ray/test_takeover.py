"""Answers whose actor dies or freezes: a replica on another machine continues them with the same tokens."""

import asyncio
import os
import signal

import pytest

from engine.async_llm import AsyncLLMEngine
from engine.fleet.remote_engine import RemoteEngine
from tests.integration.engine.fleet.answers import KINDS, answers_alone, answers_through, signalled, until_states
from tests.ray.cluster import RayCluster
from tests.waiting import until

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "frozen"])
async def test_answers_continue_on_another_machine(
    fleet: RemoteEngine, alone: AsyncLLMEngine, number: signal.Signals
) -> None:
    salt = 10 * number
    got, hit = await answers_through(fleet, signalled(number), salt)
    for kind, here, expected in zip(KINDS, got, await answers_alone(alone, salt), strict=True):
        assert here == expected, kind
    after = await until_states(fleet, "ok", "ok", "ok")
    new = after[hit.index]
    assert new.epoch == max(each.epoch for each in after)
    assert new.restarts == hit.restarts + 1
    assert new.last_loss
    # Ray kills a frozen process after five seconds. The answers have continued long before.
    until(lambda: is_gone(hit.pid or 0), timeout=20)


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


async def test_machine_that_dies_is_replaced_by_one_that_joins(
    fleet: RemoteEngine, alone: AsyncLLMEngine, cluster: RayCluster
) -> None:
    salt = 300
    got, hit = await answers_through(fleet, lambda state: cluster.kill_machine_of(state.pid), salt)
    for kind, here, expected in zip(KINDS, got, await answers_alone(alone, salt), strict=True):
        assert here == expected, kind
    # The other machines have no room for another replica of this size.
    await until_states(fleet, "ok", "ok", "starting")
    await asyncio.to_thread(cluster.add_machine)
    after = await until_states(fleet, "ok", "ok", "ok")
    assert after[hit.index].epoch == max(each.epoch for each in after)
