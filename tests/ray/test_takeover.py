"""Answers whose actor dies or freezes: a replica on another machine continues them with the same tokens."""

import asyncio
import os
import signal

import pytest

from engine.fleet.remote_engine import RemoteEngine
from engine.loop.async_llm import AsyncLLMEngine
from engine.loop.stats import ReplicaState
from tests.integration.engine.fleet.answers import KINDS, answers_alone, answers_through, signalled, until_states
from tests.ray.cluster import RayCluster
from tests.waiting import until

pytestmark = pytest.mark.asyncio(loop_scope="session")

MAX_TOKENS = 50
"""Length of an answer. When the last of them begins, the first have a dozen tokens."""


async def test_answers_of_two_replicas_continue_on_the_third(fleet: RemoteEngine, alone: AsyncLLMEngine) -> None:
    """Kill a replica, and freeze another one at the same moment."""
    salt = 100
    frozen: list[ReplicaState] = []

    def strike(killed: ReplicaState) -> None:
        others = (each for each in fleet.stats().replicas if each.index != killed.index)
        frozen.append(max(others, key=lambda each: each.answers))
        signalled(signal.SIGKILL)(killed)
        signalled(signal.SIGSTOP)(frozen[0])

    got, killed = await answers_through(fleet, strike, salt, MAX_TOKENS)
    hits = (killed, *frozen)
    assert all(hit.answers for hit in hits)
    after, alike = await asyncio.gather(until_states(fleet, "ok", "ok", "ok"), answers_alone(alone, salt, MAX_TOKENS))
    for kind, here, expected in zip(KINDS, got, alike, strict=True):
        assert here == expected, kind
    assert {after[hit.index].epoch for hit in hits} == set(sorted(each.epoch for each in after)[-2:])
    for hit in hits:
        assert after[hit.index].restarts == hit.restarts + 1
        assert after[hit.index].last_loss
        # Ray kills a frozen process after a while. The answers have continued long before.
        await asyncio.to_thread(until, lambda gone=hit.pid: is_gone(gone or 0))


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

    async def add_machine() -> None:
        # The other machines have no room for another replica of this size.
        await until_states(fleet, "ok", "ok", "starting")
        await asyncio.to_thread(cluster.add_machine)

    (got, hit), _ = await asyncio.gather(
        answers_through(fleet, lambda state: cluster.kill_machine_of(state.pid), salt, MAX_TOKENS), add_machine()
    )
    after, alike = await asyncio.gather(until_states(fleet, "ok", "ok", "ok"), answers_alone(alone, salt, MAX_TOKENS))
    for kind, here, expected in zip(KINDS, got, alike, strict=True):
        assert here == expected, kind
    assert after[hit.index].epoch == max(each.epoch for each in after)
