"""Process of one replica: `python -P -m engine.fleet.placement.process FD [LOCK]`.

A ReplicaOrder comes on the standard input. FD is the connected socket to the gateway, LOCK the descriptor of a
LivenessLock. Nothing that counts cores is imported before the affinity is set.
"""

import asyncio
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from engine.api.errors import EbbError
from engine.fleet.placement.liveness_lock import LivenessLock
from engine.fleet.placement.order import ReplicaOrder, decode_order
from engine.fleet.replica.server import ReplicaServer
from engine.fleet.wire.messages import LogLine, Note
from engine.process.parent_process import die_with
from models.errors import ModelError

if TYPE_CHECKING:
    from engine.loop.async_llm import AsyncLLMEngine

logger = logging.getLogger(__name__)


def main(descriptor: int, order: ReplicaOrder, life_lock: LivenessLock | None) -> None:
    """Run a replica until its connection closes."""
    die_with(order.parent)
    if life_lock is not None:
        life_lock.hold()
    # Ctrl-C reaches the whole process group, but the gateway decides when this process ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)

    async def connect(protocol: Callable[[], asyncio.Protocol]) -> None:
        connected = socket.socket(fileno=descriptor)
        await asyncio.get_running_loop().create_connection(protocol, sock=connected)

    run_replica(order, connect)


Connect = Callable[[Callable[[], asyncio.Protocol]], Awaitable[None]]
"""Connects protocols, each made by a call, to the gateway, or to every gateway from then on."""


def run_replica(order: ReplicaOrder, connect: Connect, *, is_shared: bool = False) -> None:
    """Run a replica on this thread, until the process ends.

    is_shared: see ReplicaServer.
    """
    os.umask(0o077)
    sys.setswitchinterval(order.switch_seconds)
    if order.cpus:
        os.sched_setaffinity(0, order.cpus)
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(order, connect, is_shared=is_shared))


async def _serve(order: ReplicaOrder, connect: Connect, *, is_shared: bool) -> None:
    loop = asyncio.get_running_loop()
    server = ReplicaServer(order.token, order.epoch, is_shared=is_shared)
    logging.basicConfig(level=order.log_level, format="%(message)s", handlers=[_WireLog(server, loop)])
    await connect(server.admit)
    server.begin()
    # If the gateway that started this process died before it published the place, none comes, and the next epoch
    # needs the memory.
    await server.first_gateway()
    built: asyncio.Future[AsyncLLMEngine] = loop.create_future()
    threading.Thread(target=_build, args=(order, server, loop, built), name="startup", daemon=True).start()
    try:
        engine = await built
        await engine.start()
    except (EbbError, ModelError) as error:
        server.fail(str(error))
    else:
        server.serve(engine)
    # The server ends the process.
    await loop.create_future()


def _build(
    order: ReplicaOrder,
    server: ReplicaServer,
    loop: asyncio.AbstractEventLoop,
    built: "asyncio.Future[AsyncLLMEngine]",
) -> None:
    """Build the engine on a separate thread, while the loop sends signs of life."""
    try:
        from engine.process.gc_freeze import frozen_objects
        from engine.wiring.build import build_engine

        with frozen_objects():
            engine = build_engine(
                order.config, lambda sentence: _call(loop, server.send, Note(f"replica {order.index}: {sentence}"))
            )
    except (EbbError, ModelError) as error:
        _call(loop, built.set_exception, error)
    except BaseException:
        logger.exception("replica %d could not be started", order.index)
        _call(loop, os._exit, 1)
    else:
        _call(loop, built.set_result, engine)


def _call(loop: asyncio.AbstractEventLoop, function: Any, *arguments: Any) -> None:
    loop.call_soon_threadsafe(function, *arguments)


class _WireLog(logging.Handler):
    """Log handler that sends records to the gateway, so that only one process writes the log."""

    def __init__(self, server: ReplicaServer, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._server = server
        self._loop = loop

    def emit(self, record: logging.LogRecord) -> None:
        self._loop.call_soon_threadsafe(self._server.send, LogLine(record.name, record.levelno, self.format(record)))


if __name__ == "__main__":
    main(
        int(sys.argv[1]),
        decode_order(sys.stdin.buffer.read()),
        LivenessLock(int(sys.argv[2])) if len(sys.argv) > 2 else None,
    )
