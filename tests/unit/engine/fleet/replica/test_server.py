"""Gateways of one replica that come, prove themselves, fall silent and leave, and the end of its process."""

import asyncio
import logging
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from engine.fleet.gateway.link import Link
from engine.fleet.placement import process
from engine.fleet.placement.order import ReplicaOrder
from engine.fleet.replica import server as server_module
from engine.fleet.replica.server import ReplicaServer
from engine.fleet.wire.connection import FrameConnection
from engine.fleet.wire.handshake import new_token
from engine.fleet.wire.messages import Beat, Draining, Farewell, Here, decode_up
from tests.unit.engine.fleet.memory_fleet import CONFIG, settled

TOKEN = new_token()
BEAT = 0.01


class Gateway:
    """One gateway's end of a connection, and whether the replica has announced that it is drained."""

    def __init__(self, token: bytes = TOKEN) -> None:
        self.lost = asyncio.Event()
        self.drained = asyncio.Event()
        self.failures: list[str] = []
        events = SimpleNamespace(
            on_failed=lambda _, sentence: self.failures.append(sentence),
            on_lost=lambda *_: self.lost.set(),
            on_draining=lambda _: self.drained.set(),
        )
        self.link = Link(0, 1, token, cast("Any", events))


class Sockets:
    """Connections between gateways and replicas in this process."""

    def __init__(self) -> None:
        self._connections: list[FrameConnection] = []

    async def connect(self, server: ReplicaServer, connection: FrameConnection) -> None:
        ours, theirs = socket.socketpair()
        for end in (ours, theirs):
            end.setblocking(False)
        admitted = server.admit()
        self._connections += (connection, admitted)
        loop = asyncio.get_running_loop()
        await loop.create_connection(lambda: connection, sock=ours)
        await loop.create_connection(lambda: admitted, sock=theirs)

    async def joined(self, server: ReplicaServer, count: int) -> list[Gateway]:
        """Connect `count` gateways, and wait until they have proved themselves."""
        gateways = [Gateway() for _ in range(count)]
        for each in gateways:
            await self.connect(server, each.link.connection)
        async with asyncio.timeout(20):
            while len(server._proven) < count:  # noqa: ASYNC110
                await asyncio.sleep(0)
        return gateways

    async def close(self) -> None:
        for each in self._connections:
            each.abort()
        # The loop closes the sockets in its next rounds.
        for _ in range(3):
            await asyncio.sleep(0)


@pytest.fixture
async def sockets() -> AsyncIterator[Sockets]:
    made = Sockets()
    yield made
    await made.close()


@pytest.fixture(scope="module")
def exit_codes() -> Iterator[list["asyncio.Queue[int]"]]:
    """Put the codes with which replicas end their process into the last queue of the returned list.

    A timer of a replica may end it once more while its event loop is being closed, after the fixtures of the test.
    """
    queues = list[asyncio.Queue[int]]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("engine.fleet.replica.server.os._exit", lambda code: queues[-1].put_nowait(code))
        yield queues


@pytest.fixture
def exited(monkeypatch: pytest.MonkeyPatch, exit_codes: list["asyncio.Queue[int]"]) -> "asyncio.Queue[int]":
    """Return the queue of the codes with which the replica ends its process. Times are shortened."""
    exit_codes.append(asyncio.Queue[int]())
    monkeypatch.setattr(server_module, "BEAT_SECONDS", BEAT)
    monkeypatch.setattr(server_module, "ORPHAN_SECONDS", BEAT)
    return exit_codes[-1]


async def test_private_replica_ends_with_its_gateway(sockets: Sockets, exited: "asyncio.Queue[int]") -> None:
    server = ReplicaServer(TOKEN, 1)
    [gateway] = await sockets.joined(server, 1)
    gateway.link.connection.abort()
    assert await asyncio.wait_for(exited.get(), 20) == 0


async def test_shared_replica_that_no_gateway_finds_ends(exited: "asyncio.Queue[int]") -> None:
    ReplicaServer(TOKEN, 1, is_shared=True).begin()
    assert await asyncio.wait_for(exited.get(), 20) == 0


async def test_shared_replica_ends_once_the_last_gateway_left(
    sockets: Sockets, exited: "asyncio.Queue[int]", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "ORPHAN_SECONDS", 3600.0)
    server = ReplicaServer(TOKEN, 1, is_shared=True)
    first, second = await sockets.joined(server, 2)
    first.link.send(Farewell())
    first.link.connection.close()
    async with asyncio.timeout(20):
        while len(server._proven) > 1:  # noqa: ASYNC110
            await asyncio.sleep(0)
    assert exited.empty()
    second.link.send(Farewell())
    second.link.connection.close()
    assert await asyncio.wait_for(exited.get(), 20) == 0


async def test_shared_replica_drops_only_the_silent_gateway(
    sockets: Sockets, exited: "asyncio.Queue[int]", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "GATEWAY_TICKS", 2)
    server = ReplicaServer(TOKEN, 1, is_shared=True)
    silent, speaking = await sockets.joined(server, 2)
    server.begin()
    async with asyncio.timeout(20):
        while not silent.lost.is_set():
            speaking.link.send(Here())
            await asyncio.sleep(BEAT / 4)
    assert not speaking.lost.is_set()
    assert len(server._proven) == 1


async def test_peer_without_the_token_hears_nothing_and_is_dropped(
    sockets: Sockets, exited: "asyncio.Queue[int]", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "PROOF_TICKS", 1)
    server = ReplicaServer(TOKEN, 1, is_shared=True)
    frames, closed = list[bytes](), asyncio.Event()
    await sockets.connect(server, FrameConnection(frames.append, closed.set))
    server.begin()
    await asyncio.wait_for(closed.wait(), 20)
    stranger = Gateway(new_token())
    await sockets.connect(server, stranger.link.connection)
    await asyncio.wait_for(stranger.lost.wait(), 20)
    assert len(frames) == 1
    assert not isinstance(decode_up(frames[0]), Beat | Draining)


async def test_gateway_hears_why_there_is_no_engine(sockets: Sockets, exited: "asyncio.Queue[int]") -> None:
    server = ReplicaServer(TOKEN, 1, is_shared=True)
    server.fail("The model cannot be read.")
    assert exited.empty()
    [gateway] = await sockets.joined(server, 1)
    await asyncio.wait_for(gateway.lost.wait(), 20)
    assert gateway.failures == ["The model cannot be read."]
    assert await asyncio.wait_for(exited.get(), 20) == 0


async def test_drain_of_one_gateway_is_announced_to_all(sockets: Sockets, exited: "asyncio.Queue[int]") -> None:
    server = ReplicaServer(TOKEN, 1, is_shared=True)
    first, second = await sockets.joined(server, 2)
    first.link.drain(0.0)
    await asyncio.wait_for(second.drained.wait(), 20)
    # The first one has drained it, and needs no notice.
    assert not first.drained.is_set()
    await asyncio.wait_for(asyncio.gather(first.lost.wait(), second.lost.wait()), 20)
    assert await asyncio.wait_for(exited.get(), 20) == 0


async def test_model_is_loaded_for_a_gateway(sockets: Sockets, monkeypatch: pytest.MonkeyPatch) -> None:
    built, servers = threading.Event(), list[ReplicaServer]()

    async def connect(_: object) -> None: ...

    def build(_: object, server: ReplicaServer, *__: object) -> None:
        built.set()

    class Opened(ReplicaServer):
        def begin(self) -> None:
            servers.append(self)

    monkeypatch.setattr(process, "_build", build)
    monkeypatch.setattr(process, "ReplicaServer", Opened)
    order = ReplicaOrder(CONFIG, 0, 1, TOKEN, 0, (), "", logging.INFO, 0.005)
    serving = asyncio.create_task(process._serve(order, connect, is_shared=True))
    await settled()
    assert not built.is_set(), "a process that no gateway has found takes no memory"
    await sockets.joined(servers[0], 1)
    assert await asyncio.to_thread(built.wait, 20)
    serving.cancel()
