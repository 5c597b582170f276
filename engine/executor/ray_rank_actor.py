"""Actor that runs one rank on a machine of a Ray cluster.

Ray imports this module before the first call, and the actor all that a rank needs.
"""

import os
import socket
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from threading import Thread
from typing import TYPE_CHECKING, Final

import ray

from engine.executor.core_shares import CoreShare, core_shares
from engine.executor.machine_share import MachineShare
from engine.process.gc_freeze import frozen_objects

if TYPE_CHECKING:
    from engine.executor.rank_process import RankOrder

START_SECONDS: Final = 60.0
"""Time limit of starting an actor. The placement group has the CPUs already."""
_SILENCE_SECONDS: Final = 1
"""Seconds without a word after which the other machine is asked whether it is there."""
_UNREACHABLE_MS: Final = 3_000
"""Milliseconds without an acknowledgement after which the other machine is lost."""


@dataclass(frozen=True, slots=True)
class RankDoor:
    """Place where the engine waits for the connections of one rank, and the secret that begins each of them."""

    host: str
    port: int
    secret: bytes


class RankActor:
    """Process of one rank. The rank has a separate thread, away from Ray's."""

    def __init__(self) -> None:
        with frozen_objects():
            # Torch is imported here, without garbage collection.
            import engine.executor.rank_process  # noqa: F401

    def machine(self) -> tuple[str, str, str]:
        """Return the id of the actor's node, its address, and the name of its machine for people."""
        node: str = ray.get_runtime_context().get_node_id()
        return node, ray.util.get_node_ip_address(), socket.gethostname()

    def share(self, count: int) -> CoreShare:
        """Take one of `count` equal parts of the machine's CPUs."""
        node: str = ray.get_runtime_context().get_node_id()
        self._share = MachineShare(node, count)
        return core_shares(os.sched_getaffinity(0), count)[self._share.number]

    def start(self, order: "RankOrder", door: RankDoor, cores: CoreShare, *, is_far: bool) -> int:
        """Begin the rank, and return the process id.

        cores: those that the rank computes on.
        is_far: whether the engine is on another machine.
        """
        pipe = _knock(door)
        pool_pipe = _knock(door) if is_far else None
        Thread(target=_run, args=(order, pipe, pool_pipe, cores), name="rank", daemon=True).start()
        return os.getpid()


def _run(order: "RankOrder", pipe: Connection, pool_pipe: Connection | None, cores: CoreShare) -> None:
    try:
        # The affinity of this thread, and of those that it starts.
        os.sched_setaffinity(0, cores.cpus)
        from engine.executor.rank_process import serve_rank

        config = order.config.with_fields(cpu_sharers=cores.sharers)
        serve_rank(replace(order, config=config), pipe, pool_pipe)
    finally:
        os._exit(1)


def _knock(door: RankDoor) -> Connection:
    """Connect to the engine. Raise OSError."""
    connected = socket.create_connection((door.host, door.port), START_SECONDS)
    connected.sendall(door.secret)
    return pipe_of(connected)


def pipe_of(connected: socket.socket) -> Connection:
    """Return a connection of `multiprocessing` by a TCP socket, which ends when the other machine vanishes."""
    connected.settimeout(None)
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _SILENCE_SECONDS)
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _SILENCE_SECONDS)
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _UNREACHABLE_MS)
    return Connection(connected.detach())
