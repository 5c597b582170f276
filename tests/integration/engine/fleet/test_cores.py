"""Cores of replicas: each computes on its own share."""

import os
import sys
from pathlib import Path

import pytest

from engine.executor.core_shares import core_shares
from engine.fleet.remote_engine import RemoteEngine
from tests.integration.engine.fleet.answers import KINDS, answers_of, prompt_of, until_states

pytestmark = pytest.mark.asyncio(loop_scope="package")


def cores_of_threads(pid: int | None) -> list[set[int]]:
    """Return the cores on which each thread of a process may run."""
    return [os.sched_getaffinity(int(thread.name)) for thread in Path(f"/proc/{pid}/task").iterdir()]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux binds processes to cores")
async def test_all_threads_of_a_replica_stay_on_its_cores(fleet: RemoteEngine) -> None:
    replicas = await until_states(fleet, "ok", "ok")
    # The kernels' threads exist once something was computed.
    for salt in range(2):
        await answers_of(fleet, prompt_of(80, 900 + salt), *KINDS["greedy"])
    shares = core_shares(os.sched_getaffinity(0), len(replicas))
    for replica, share in zip(replicas, shares, strict=True):
        assert all(cores <= set(share.cpus) for cores in cores_of_threads(replica.pid))
