"""A gateway's search for shared replicas, and the starts that it orders. No process is started."""

import asyncio
import resource
import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from engine.api.errors import EngineError
from engine.config import CacheConfig, EngineConfig, ModelConfig
from engine.fleet.placement import shared_placement
from engine.fleet.placement.interface import MachinePart
from engine.fleet.placement.nearby_process import ProcessIdentity
from engine.fleet.placement.order import ReplicaOrder
from engine.fleet.placement.shared_place import PublishedReplica, SharedPlace
from engine.fleet.placement.shared_placement import SharedPlacement
from engine.fleet.wire.tls import Identity
from engine.process.listening_socket import listen_on
from tests.shelf import Card, Shelf

REPLICA = Identity.new()
CONFIG = EngineConfig(
    model=ModelConfig(path=Path("model"), name="fake"),
    cache=CacheConfig(tiers=None, secret=b"a secret of the tests"),
)


def order_of(index: int) -> ReplicaOrder:
    return ReplicaOrder(CONFIG, index, 0, b"", 0, (), "", 0, 0.005)


def place_at(port: int) -> SharedPlace:
    return SharedPlace("127.0.0.1", port, REPLICA.certificate, "here", ProcessIdentity("elsewhere", 1, 1))


class FakeStarter:
    """Starter of replicas that are lost at once: nothing listens at their address. ended: places of replicas."""

    def __init__(self) -> None:
        self.ended: list[SharedPlace] = []

    def shares(self, count: int, accelerators: Sequence[str]) -> list[MachinePart]:
        return [MachinePart()] * count

    async def start(self, order: ReplicaOrder) -> SharedPlace:
        with listen_on("127.0.0.1") as listener:
            return place_at(listener.getsockname()[1])

    def discard(self, place: SharedPlace) -> None: ...

    async def end(self, place: SharedPlace) -> None:
        self.ended.append(place)


@contextmanager
def no_free_descriptors() -> Iterator[None]:
    """Take all descriptors that this process may open."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    with ExitStack() as held:
        last = held.enter_context(socket.socket()).fileno()
        held.callback(resource.setrlimit, resource.RLIMIT_NOFILE, limits)
        resource.setrlimit(resource.RLIMIT_NOFILE, (last + 1, limits[1]))
        with suppress(OSError):
            while True:
                held.enter_context(socket.socket())
        yield


def placement_on(shelf: Shelf, starter: FakeStarter) -> SharedPlacement:
    return SharedPlacement(Card(shelf), b"a secret of the tests", starter)


async def test_drains_leave_the_restarts_to_losses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_placement, "PAUSES", (0.0,))
    placement = placement_on(Shelf(), FakeStarter())
    for epoch in range(1, 8):
        replica = await placement.start(order_of(0))
        assert replica.epoch == epoch
        replica.retire()
    replica = await placement.start(order_of(0))
    # This one is lost.
    assert (await placement.start(order_of(0))).epoch == replica.epoch + 1
    with pytest.raises(EngineError, match="replica 0 was restarted too often"):
        await placement.start(order_of(0))


async def test_each_replica_has_its_own_restarts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_placement, "PAUSES", (0.0,))
    placement = placement_on(Shelf(), FakeStarter())
    for _ in range(2):
        for index in range(3):
            await placement.start(order_of(index))
    with pytest.raises(EngineError, match="replica 2 was restarted too often"):
        await placement.start(order_of(2))


async def test_replica_that_is_slow_once_is_not_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_placement, "REACH_SECONDS", (0.05, 20.0))
    shelf, starter, loop = Shelf(), FakeStarter(), asyncio.get_running_loop()
    with listen_on("127.0.0.1") as listener:
        listener.setblocking(False)
        shelf.published[0] = PublishedReplica(1, place_at(listener.getsockname()[1]))
        finding = asyncio.create_task(placement_on(shelf, starter).start(order_of(0)))
        async with asyncio.timeout(20):
            first, _ = await loop.sock_accept(listener)
            second, _ = await loop.sock_accept(listener)
            await loop.connect_accepted_socket(asyncio.Protocol, second, ssl=REPLICA.accepting_all())
            assert (await finding).epoch == 1
        first.close()
    assert starter.ended == []


async def test_gateway_without_descriptors_kills_no_replica() -> None:
    shelf, starter, loop = Shelf(), FakeStarter(), asyncio.get_running_loop()
    placement = placement_on(shelf, starter)
    async with await loop.create_server(asyncio.Protocol, "127.0.0.1", 0, ssl=REPLICA.accepting_all()) as server:
        shelf.published[0] = PublishedReplica(1, place_at(server.sockets[0].getsockname()[1]))
        with no_free_descriptors(), pytest.raises(EngineError, match="cannot open a connection: Too many open files"):
            await placement.start(order_of(0))
        assert (await placement.start(order_of(0))).epoch == 1
    assert starter.ended == []


async def test_replica_that_is_withdrawn_during_the_start_is_not_used() -> None:
    shelf, starter, loop = Shelf(), FakeStarter(), asyncio.get_running_loop()
    assert await Card(shelf).reserve(0) == 1, "another gateway keeps the replicas"
    with listen_on("127.0.0.1") as former, listen_on("127.0.0.1") as latter:
        for listener in (former, latter):
            listener.setblocking(False)
        shelf.published[0] = PublishedReplica(1, place_at(former.getsockname()[1]))
        finding = asyncio.create_task(placement_on(shelf, starter).start(order_of(0)))
        async with asyncio.timeout(20):
            reached, _ = await loop.sock_accept(former)
            shelf.published[0] = PublishedReplica(2, None)
            await loop.connect_accepted_socket(asyncio.Protocol, reached, ssl=REPLICA.accepting_all())
            shelf.published[0] = PublishedReplica(2, place_at(latter.getsockname()[1]))
            shelf.announce()
            reached, _ = await loop.sock_accept(latter)
            await loop.connect_accepted_socket(asyncio.Protocol, reached, ssl=REPLICA.accepting_all())
            assert (await finding).epoch == 2


async def test_replica_is_left_once_a_later_epoch_has_a_place() -> None:
    shelf = Shelf()
    placement = placement_on(shelf, FakeStarter())
    replica = await placement.start(order_of(0))
    ended = asyncio.create_task(replica.ended())
    for published in (PublishedReplica(replica.epoch + 1, None), PublishedReplica(replica.epoch + 1, place_at(1))):
        await asyncio.sleep(0)
        assert not ended.done()
        shelf.published[0] = published
        shelf.announce()
    async with asyncio.timeout(20):
        assert await ended == "was replaced"


class TornCard(Card):
    """Access to a shelf that cannot be read while `torn`. looked: set once it was tried."""

    def __init__(self, shelf: Shelf) -> None:
        super().__init__(shelf)
        self.torn, self.looked = False, asyncio.Event()

    async def read(self) -> dict[int, PublishedReplica]:
        if self.torn:
            self.looked.set()
            raise ValueError("a row of the directory is damaged")
        return await super().read()


async def test_replica_is_left_although_the_directory_failed_once() -> None:
    shelf = Shelf()
    card = TornCard(shelf)
    replica = await SharedPlacement(card, b"a secret of the tests", FakeStarter()).start(order_of(0))
    card.torn = True
    ended = asyncio.create_task(replica.ended())
    await card.looked.wait()
    done, _ = await asyncio.wait({ended}, timeout=0.05)
    assert not done, "a directory that cannot be read says nothing about the replica"
    card.torn = False
    shelf.published[0] = PublishedReplica(replica.epoch + 1, place_at(1))
    await asyncio.sleep(0)
    shelf.announce()
    async with asyncio.timeout(20):
        assert await ended == "was replaced"


async def test_epoch_that_the_directory_lost_is_brought_back() -> None:
    shelf, starter = Shelf(), FakeStarter()
    placement = placement_on(shelf, starter)
    first = await placement.start(order_of(0))
    before = shelf.published[0]
    second = await placement.start(order_of(0))
    lost = shelf.published[0]
    # A standby that lacks the second epoch takes the place of the directory.
    shelf.published[0], shelf.last_epoch = before, first.epoch
    ended = asyncio.create_task(second.ended())
    async with asyncio.timeout(20):
        while shelf.published[0] != lost:
            await shelf.changed.wait()
    assert shelf.last_epoch == second.epoch
    # Another one lacks it too, and the next start comes first.
    shelf.published[0], shelf.last_epoch = before, first.epoch
    assert (await placement.start(order_of(0))).epoch == second.epoch + 1
    shelf.announce()
    async with asyncio.timeout(20):
        assert await ended == "was replaced"
