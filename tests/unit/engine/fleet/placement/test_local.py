"""Shares of this machine for replicas that are plain processes."""

import os
import sys

import pytest

from engine.fleet.placement.local import local_shares

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux binds processes to cores")


def test_each_replica_has_an_accelerator_and_cores() -> None:
    [one] = local_shares(1, ["7"])
    assert (set(one.cores.cpus), one.cores.sharers, one.accelerator) == (os.sched_getaffinity(0), 1, "7")


def test_replicas_beyond_the_cores_share_them_all() -> None:
    count = len(os.sched_getaffinity(0)) + 1
    for share in local_shares(count, []):
        assert (set(share.cores.cpus), share.cores.sharers) == (os.sched_getaffinity(0), count)
