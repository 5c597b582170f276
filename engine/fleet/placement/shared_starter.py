"""Ways to start the process of a replica that outlives its gateway."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from typing import Protocol

from engine.api.errors import EngineError
from engine.executor.device_shares import variables_for
from engine.fleet.placement.interface import MachinePart
from engine.fleet.placement.local import local_shares
from engine.fleet.placement.nearby_process import NearbyProcess
from engine.fleet.placement.order import ReplicaOrder, encode_order
from engine.fleet.placement.shared_place import SharedPlace, decode_place


class SharedStarter(Protocol):
    """A way to start and to end shared replicas."""

    def shares(self, count: int, accelerators: Sequence[str]) -> list[MachinePart]:
        """See Placement."""

    async def start(self, order: ReplicaOrder) -> SharedPlace:
        """Start one epoch, without waiting for its engine. Nothing stays started if the call is cancelled.

        Raise EngineError if there is no room now.
        """

    def discard(self, place: SharedPlace) -> None:
        """Begin to end a replica that `start` has returned."""

    async def end(self, place: SharedPlace) -> None:
        """End a replica, whichever gateway started it. Wait for its memory if this gateway can see when it is free."""


class LocalStarter:
    """Processes of this machine."""

    def __init__(self, host: str) -> None:
        """Prepare to start replicas that listen on the address `host` of this machine."""
        self._host = host

    def shares(self, count: int, accelerators: Sequence[str]) -> list[MachinePart]:
        """See SharedStarter."""
        return local_shares(count, accelerators)

    async def start(self, order: ReplicaOrder) -> SharedPlace:
        """See SharedStarter."""
        pid, announcing = _spawn(self._host, order)
        try:
            return await asyncio.to_thread(_announced, announcing)
        except BaseException:
            _end(pid)
            raise

    def discard(self, place: SharedPlace) -> None:
        """See SharedStarter."""
        _end(place.process.pid)

    async def end(self, place: SharedPlace) -> None:
        """See SharedStarter. Processes of other machines are left to end by themselves."""
        if (process := NearbyProcess.find(place.process)) is not None:
            process.kill()
            await process.ended()


def _spawn(host: str, order: ReplicaOrder) -> tuple[int, int]:
    """Start a process. Return its id, and the descriptor from which its SharedPlace can be read."""
    order_end, write_end = os.pipe()
    place_end, announce_end = os.pipe()
    try:
        pid = os.posix_spawn(
            sys.executable,
            [sys.executable, "-P", "-m", "engine.fleet.placement.shared_process", host],
            {**os.environ, **variables_for(order.config.device.kind, order.accelerator)},
            file_actions=[(os.POSIX_SPAWN_DUP2, order_end, 0), (os.POSIX_SPAWN_DUP2, announce_end, 1)],
            # Signals to the gateway's process group, and its terminal, are not for replicas.
            setsid=True,
        )
    except OSError as error:
        os.close(write_end)
        os.close(place_end)
        raise EngineError(f"replica {order.index} cannot be started: {error.strerror or error}") from error
    finally:
        os.close(order_end)
        os.close(announce_end)
    with contextlib.suppress(BrokenPipeError), open(write_end, "wb") as sending:
        sending.write(encode_order(order))
    return pid, place_end


def _announced(descriptor: int) -> SharedPlace:
    """Return the place that a process announces. Raise EngineError if it ends before."""
    with open(descriptor, "rb") as announcing:
        announced = announcing.read()
    if not announced:
        raise EngineError("a replica ended while it started; see the server's log")
    return decode_place(announced)


def _end(pid: int) -> None:
    """Kill a process that this one has started."""
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
