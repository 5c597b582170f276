"""Replicas as plain processes on this machine."""

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Sequence

from engine.api.errors import EngineError
from engine.executor.core_shares import CoreShare, core_shares
from engine.executor.device_shares import variables_for
from engine.fleet.placement.interface import MachinePart
from engine.fleet.placement.liveness_lock import LivenessLock, death_noticed
from engine.fleet.placement.order import ReplicaOrder, encode_order


class LocalReplica:
    """A process, with the socket to it.

    machine, pid, epoch, token: see PlacedReplica.
    """

    def __init__(
        self,
        order: ReplicaOrder,
        process: "subprocess.Popen[bytes]",
        connected: socket.socket,
        life_lock: LivenessLock | None,
    ) -> None:
        self._process = process
        self._socket = connected
        self._life_lock = life_lock
        self.machine = socket.gethostname()
        self.pid = process.pid
        self.epoch, self.token = order.epoch, order.token

    async def connect(self, protocol: asyncio.Protocol) -> None:
        """See PlacedReplica."""
        await asyncio.get_running_loop().create_connection(lambda: protocol, sock=self._socket)

    def retire(self) -> None:
        """See PlacedReplica."""

    def kill(self) -> None:
        """See PlacedReplica."""
        self._process.kill()

    async def died(self) -> None:
        """See PlacedReplica. Without life locks, wait forever: the closed socket comes later, but it comes."""
        await death_noticed(self._life_lock, f"life-{self.pid}")

    async def ended(self) -> str:
        """See PlacedReplica."""
        code = await asyncio.to_thread(self._process.wait)
        return f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"


class LocalPlacement:
    """Plain processes, each with its share of the cores.

    is_shared: see Placement.

    Start them on a thread that lives as long as they should: they are killed when that thread ends.
    """

    is_shared = False

    def shares(self, count: int, accelerators: Sequence[str]) -> list[MachinePart]:
        """See Placement."""
        return local_shares(count, accelerators)

    async def start(self, order: ReplicaOrder) -> LocalReplica:
        """See Placement."""
        return _spawn(order)


def local_shares(count: int, accelerators: Sequence[str]) -> list[MachinePart]:
    """Divide this machine among `count` replicas: see Placement."""
    cpus = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else ()
    cores = core_shares(cpus, count) if cpus else [CoreShare(sharers=count)] * count
    return [MachinePart(*share) for share in zip(cores, accelerators or [""] * count, strict=False)]


def _spawn(order: ReplicaOrder) -> LocalReplica:
    ours, theirs = socket.socketpair()
    life_lock = LivenessLock.make()
    inherited = [theirs.fileno(), *([life_lock.descriptor] if life_lock is not None else [])]
    with theirs:
        try:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "engine.fleet.placement.process", *map(str, inherited)],
                stdin=subprocess.PIPE,
                env={**os.environ, **variables_for(order.config.device.kind, order.accelerator)},
                pass_fds=inherited,
            )
        except OSError as error:
            ours.close()
            raise EngineError(f"replica {order.index} cannot be started: {error.strerror or error}") from error
        finally:
            if life_lock is not None:
                os.close(life_lock.descriptor)
    assert process.stdin is not None
    try:
        # A process that has died is noticed at its socket.
        with process.stdin:
            process.stdin.write(encode_order(order))
    except BrokenPipeError:
        pass
    ours.setblocking(False)
    return LocalReplica(order, process, ours, life_lock)
