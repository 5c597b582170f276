"""A cluster whose head is lost: replicas continue. The cluster is of no use after this test, so it is the last one."""

import signal
import threading

import pytest

from engine.fleet.remote_engine import RemoteEngine
from engine.loop.async_llm import AsyncLLMEngine
from tests.integration.engine.fleet.answers import KINDS, answers_alone, answers_through, signalled, until_states
from tests.ray.cluster import RayCluster

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_answers_continue_without_the_head(
    fleet: RemoteEngine, alone: AsyncLLMEngine, cluster: RayCluster
) -> None:
    salt, length = 600, 80
    got, _ = await answers_through(fleet, lambda _: cluster.kill_head(), salt, length)
    for kind, here, expected in zip(KINDS, got, await answers_alone(alone, salt, length), strict=True):
        assert here == expected, kind
    # A replica that dies now has no next epoch, and its answers continue all the same.
    salt, length = 700, 50
    got, _ = await answers_through(fleet, signalled(signal.SIGKILL), salt, length)
    for kind, here, expected in zip(KINDS, got, await answers_alone(alone, salt, length), strict=True):
        assert here == expected, kind
    await until_states(fleet, "ok", "ok", "starting")
    # A thread of Ray's would try without a pause to read messages of the head.
    assert "ray_listen_error_messages" not in {thread.name for thread in threading.enumerate()}
