"""Replicas that two servers share: the directory in PostgreSQL, and real servers of which one dies or stops."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from msgspec.structs import replace

from app.storage.notices import NoticeTable
from app.storage.replicas import ReplicaStore
from app.storage.store import Store
from bench.server import EbbServer, ServerSettings
from engine.fleet.placement.nearby_process import ProcessIdentity
from engine.fleet.placement.shared_place import PublishedReplica, SharedPlace
from tests.on_postgres import url_of
from tests.postgres.server import expire
from tests.postgres.test_real_servers import FLAGS, body, new_conversation, read_whole
from tests.run_reader import RunReader

PLACE = SharedPlace("127.0.0.1", 1, b"certificate", "here", ProcessIdentity("boot", 2, 3), 4)
SHARED = (*FLAGS, "--replicas", "2", "--shared-replicas", "127.0.0.1")


@pytest.fixture
async def stores(tmp_path: Path) -> AsyncIterator[list[Store]]:
    """Open one database as two servers that have a lease."""
    opened = [await Store.open_postgres(url_of(tmp_path)) for _ in range(2)]
    for store in opened:
        await store.servers.begin(None, b"secret")
    yield opened
    for store in opened:
        await store.close()


async def test_only_the_keeper_starts_replicas_until_its_lease_ends(stores: list[Store]) -> None:
    first, second = [ReplicaStore(store.database) for store in stores]
    assert [await first.reserve(0), await second.reserve(0), await first.reserve(1)] == [1, None, 2]
    assert await first.publish(0, 1, PLACE)
    assert await second.read() == {0: PublishedReplica(1, PLACE), 1: PublishedReplica(2, None)}
    await expire(stores[0])
    # Without a lease, no server starts anything.
    assert await first.reserve(1) is None
    assert await second.reserve(1) == 3
    # The former keeper wakes up with an epoch that is not the newest one any more.
    assert not await first.publish(1, 2, PLACE)
    await stores[0].servers.renew()
    assert await first.reserve(0) is None
    assert await second.read() == {0: PublishedReplica(1, PLACE), 1: PublishedReplica(3, None)}


async def test_epochs_lost_in_a_fail_over_come_back(stores: list[Store]) -> None:
    first, second = [ReplicaStore(store.database) for store in stores]
    assert await first.reserve(0) == 1
    await second.bring_back(0, 3, PLACE)
    assert await first.read() == {0: PublishedReplica(3, PLACE)}
    await second.bring_back(0, 2, replace(PLACE, port=2))
    assert await first.read() == {0: PublishedReplica(3, PLACE)}
    assert await first.reserve(0) == 4
    await second.bring_back(0, 4, PLACE)
    assert await first.read() == {0: PublishedReplica(4, PLACE)}
    assert await first.reserve(0, after=8) == 9


async def test_publication_wakes_the_servers_that_wait_for_it(stores: list[Store]) -> None:
    first, second = [ReplicaStore(store.database) for store in stores]
    await stores[1].database.listen(NoticeTable([second.notice_handlers]).on_notice)
    epoch = await first.reserve(0)
    assert epoch is not None
    waiting = asyncio.create_task(second.next_change(60))
    async with asyncio.timeout(20):
        while not waiting.done():
            await first.publish(0, epoch, PLACE)
            await asyncio.wait([waiting], timeout=0.1)


@pytest.fixture
async def servers(
    shallow_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[list[EbbServer]]:
    """Start two servers that share two replicas. The first one keeps them."""
    monkeypatch.setenv("EBB_DATABASE_URL", url_of(tmp_path))
    secret = tmp_path / "secret"
    secret.write_bytes(os.urandom(32))
    flags = (*SHARED, "--model", str(shallow_model), "--secret-file", str(secret))
    made = [EbbServer(ServerSettings(name, flags), tmp_path / name) for name in ("first", "second")]
    pids: list[int] = []
    async with AsyncExitStack() as stack:
        for each in made:
            await stack.enter_async_context(each)
            await until(each, are_ok)
        pids = await pids_of(made[1])
        yield made
        pids = await pids_of(made[1])
    # The last server has stopped in the usual way, so its replicas end at once.
    async with asyncio.timeout(20):
        while any(map(is_running, pids)):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def replicas_of(server: EbbServer) -> list[dict[str, Any]]:
    async with aiohttp.ClientSession(server.base_url) as session, session.get("/health") as response:
        found: list[dict[str, Any]] = (await response.json())["replicas"]
        return found


async def pids_of(server: EbbServer) -> list[int]:
    return [each["pid"] for each in await replicas_of(server)]


async def until(server: EbbServer, hold: Callable[[list[dict[str, Any]]], bool]) -> None:
    """Wait until the states of the replicas, as a server sees them, satisfy `hold`."""
    async with asyncio.timeout(60):
        while not hold(await replicas_of(server)):  # noqa: ASYNC110
            await asyncio.sleep(0.02)


def are_ok(states: list[dict[str, Any]]) -> bool:
    return all(each["state"] == "ok" for each in states)


async def begun(server: EbbServer, other: EbbServer, count: int) -> tuple[list[RunReader], list[asyncio.Task[None]]]:
    """Ask questions at a server, with readers that continue at `other` once the server is gone."""
    readers = [RunReader(lambda: server.base_url or other.base_url) for _ in range(count)]
    places = [await new_conversation(server) for _ in readers]
    tasks = [
        asyncio.create_task(reader.ask(place, body(number)))
        for number, (reader, place) in enumerate(zip(readers, places, strict=True))
    ]
    for reader in readers:
        await reader.until(40)
    return readers, tasks


async def test_answers_and_replicas_outlive_the_keeper(servers: list[EbbServer]) -> None:
    first, second = servers
    whole = await asyncio.gather(*(read_whole(second, number) for number in range(3)))
    before = await pids_of(second)
    readers, reading = await begun(first, second, 3)
    await first.kill()
    async with asyncio.timeout(60):
        await asyncio.gather(*reading)
    assert [each.text for each in readers] == [each.text for each in whole]
    assert all(each.resumed for each in readers)
    assert await pids_of(second) == before
    # The other server is the keeper now: it replaces a replica, and the first one finds the new one when it returns.
    os.kill(before[0], signal.SIGKILL)
    await until(second, lambda states: states[0]["pid"] != before[0] and are_ok(states))
    await first.start()
    await until(first, are_ok)
    assert await pids_of(first) == await pids_of(second)
    assert (await read_whole(first, 0)).text == whole[0].text


async def test_stop_of_a_server_leaves_the_replicas_to_the_other(servers: list[EbbServer]) -> None:
    first, second = servers
    whole = await read_whole(second, 0)
    before = await pids_of(second)
    await first.stop()
    assert (await read_whole(second, 0)).text == whole.text
    assert await pids_of(second) == before
