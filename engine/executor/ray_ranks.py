"""Ranks as actors of a Ray cluster, on the machine and in the placement group of the actor that has the engine."""

import os
import select
import signal
import socket
from collections.abc import Collection
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, Final

import ray
from ray.exceptions import RayError
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from engine.errors import EngineError

if TYPE_CHECKING:
    from engine.executor.rank_process import RankOrder

START_SECONDS: Final = 60.0
"""Time limit of starting an actor. The placement group has the CPUs already."""


class RankActor:
    """Process of one rank. The rank has a thread of its own, away from Ray's."""

    def start(self, order: "RankOrder", meeting: Path, cpus: Collection[int]) -> int:
        """Begin the rank, and return the process id.

        meeting: path of the socket on which the parent listens.
        cpus: CPUs that the rank may run on.
        """
        connected = socket.socket(socket.AF_UNIX)
        connected.connect(str(meeting))
        pipe = Connection(connected.detach())
        Thread(target=_run, args=(order, pipe, cpus), name="rank", daemon=True).start()
        return os.getpid()


def _run(order: "RankOrder", pipe: Connection, cpus: Collection[int]) -> None:
    try:
        # The affinity of this thread, and of those that it starts.
        os.sched_setaffinity(0, cpus)
        from engine.executor.rank_process import serve_rank

        serve_rank(order, pipe)
    finally:
        os._exit(1)


class RayRank:
    """Actor of one rank, seen from its own machine. The methods are those of a process that was spawned."""

    exitcode: Final = None

    def __init__(self, actor: Any, pid: int) -> None:
        self._actor = actor
        self._descriptor = os.pidfd_open(pid)
        self.pid: Final = pid

    def kill(self) -> None:
        """Kill the process, also a frozen one. Raise ValueError after `close`."""
        if self._descriptor < 0:
            raise ValueError("the rank is closed")
        try:
            signal.pidfd_send_signal(self._descriptor, signal.SIGKILL)
        except ProcessLookupError:
            return

    def join(self, timeout: float | None = None) -> None:
        """Wait until the process has ended, at most `timeout` seconds."""
        select.select([self._descriptor], [], [], timeout)

    def close(self) -> None:
        """Release the process, which has ended."""
        descriptor, self._descriptor = self._descriptor, -1
        os.close(descriptor)


def start_ray_rank(order: "RankOrder") -> tuple[RayRank, Connection]:
    """Start one rank in the placement group of this actor, and return it with the pipe to it. Raise EngineError."""
    meeting = order.meeting_place.with_name(f"rank-{order.rank}")
    group = ray.util.get_current_placement_group()
    place = PlacementGroupSchedulingStrategy(group, order.rank)
    cpus = group.bundle_specs[order.rank]["CPU"]
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(meeting))
        listener.listen(1)
        actor = ray.remote(RankActor).options(num_cpus=cpus, max_restarts=0, scheduling_strategy=place).remote()
        try:
            pid = ray.get(actor.start.remote(order, meeting, os.sched_getaffinity(0)), timeout=START_SECONDS)
        except RayError as error:
            ray.kill(actor)
            reason = str(error).strip().splitlines()[-1]
            raise EngineError(f"rank {order.rank} cannot be started by Ray: {reason}") from error
        # The actor has connected, so this does not wait.
        pipe, _ = listener.accept()
    return RayRank(actor, pid), Connection(pipe.detach())
