"""Processes of engines, forked from one that has imported torch: servers, replicas, and ranks of a model."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing.connection import Connection
from types import SimpleNamespace

import msgspec
import pytest

import engine.wiring.build  # noqa: F401
from engine.executor import rank_processes
from engine.executor.rank_process import RankOrder, run_rank
from engine.fleet.placement import local
from engine.fleet.placement import process as replica_process
from engine.fleet.placement.liveness_lock import LivenessLock
from engine.fleet.placement.order import decode_order
from tests.forked_process import FORKED, ForkedProcess


@contextmanager
def forked_engines() -> Iterator[None]:
    """Fork the replicas and ranks that this process starts. Each would import torch for longer than it computes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local, "subprocess", SimpleNamespace(Popen=_ForkedReplica, PIPE=subprocess.PIPE))
        patch.setattr(rank_processes, "get_context", lambda _: FORKED)
        patch.setattr(rank_processes, "run_rank", _run_rank)
        yield


class _ForkedReplica(ForkedProcess):
    """Stand-in for subprocess.Popen."""

    def __init__(self, _: Sequence[str], *, stdin: int, env: Mapping[str, str], pass_fds: Sequence[int]) -> None:
        assert stdin == subprocess.PIPE
        reading, writing = os.pipe()
        super().__init__(_run_replica, (), stdin=reading, environment=env, pass_fds=pass_fds)
        os.close(reading)
        self.stdin = open(writing, "wb")  # noqa: SIM115


def _run_replica() -> int:
    descriptor, *locks = [int(each) for each in sys.argv[1:]]
    order = msgspec.structs.replace(decode_order(sys.stdin.buffer.read()), parent=os.getppid())
    replica_process.main(descriptor, order, LivenessLock(locks[0]) if locks else None)
    return 0


def _run_rank(order: RankOrder, pipe: Connection) -> None:
    run_rank(replace(order, parent=os.getppid()), pipe)
