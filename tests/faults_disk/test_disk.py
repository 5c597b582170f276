"""A server on a file whose disk hangs, is full or refuses changes, while people chat."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import closing
from pathlib import Path

import pytest

from bench.server import EbbServer, ServerSettings
from tests.faults_database.clients import Caller, Scene
from tests.faults_database.ledger import NO_WINDOW
from tests.faults_database.play import Pace, Play
from tests.faults_database.stage import FAKE, FLAGS
from tests.faults_disk.disk import Disk, Mode, disk_at

FAULTS: tuple[tuple[Mode, float], ...] = (("hang", 15.0), ("full", 3.0), ("read-only", 3.0))
"""Each with its time in seconds. The disk hangs for longer than any request may wait."""
LONGEST_SECONDS = 12.0
LONGEST_GAP_SECONDS = 3.0
"""Streams do not wait for the disk. The limit is for machines that are busy with other tests."""


class OnDisk:
    """A server on a disk. See Scenery."""

    kind = "a file"

    def __init__(self, server: EbbServer, disk: Disk) -> None:
        self.disk = disk
        self.window = NO_WINDOW
        self._server = server

    def urls(self) -> list[str]:
        return [self._server.base_url] if self._server.base_url is not None else []

    def steady_urls(self) -> list[str]:
        return self.urls()

    async def arrive(self) -> None:
        pass

    async def depart(self) -> None:
        pass

    def content(self) -> "OnDisk":
        return self

    def rows(self, statement: str) -> list[tuple[object, ...]]:
        with closing(sqlite3.connect(self.disk.folder / "state" / "conversations.db")) as connection:
            return connection.execute(statement).fetchall()


@pytest.fixture
async def on_disk(tmp_path: Path) -> AsyncIterator[OnDisk]:
    with disk_at(tmp_path) as disk:
        secret = tmp_path / "secret"
        secret.write_bytes(bytes(range(32)))
        flags = (*FLAGS, "--secret-file", str(secret))
        async with EbbServer(
            ServerSettings("on disk", flags), disk.folder / "state", (*FAKE, "short", "serve")
        ) as server:
            yield OnDisk(server, disk)


def disk_is(mode: Mode, seconds: float) -> Callable[[OnDisk], Awaitable[None]]:
    async def strike(stage: OnDisk) -> None:
        stage.disk.be(mode)
        await asyncio.sleep(seconds)
        stage.disk.be("ok")

    return strike


async def test_disk_that_fails_loses_doubles_and_blocks_nothing(on_disk: OnDisk) -> None:
    play = Play(on_disk, Pace(before=1.0, after=1.0))
    await play.begin()
    for number, (mode, seconds) in enumerate(FAULTS):
        outcome = await play.play(mode, disk_is(mode, seconds), number)
        print(outcome.row)
        assert not outcome.defects
        assert outcome.gap < LONGEST_GAP_SECONDS
        assert outcome.slowest < LONGEST_SECONDS


async def test_write_of_a_disk_that_hangs_may_be_stored_and_is(on_disk: OnDisk) -> None:
    caller = Caller(Scene(on_disk.urls(), {}), 0)
    on_disk.disk.be("hang")
    reply = await caller.call("POST", "/api/conversations", {"title": "Tides"})
    assert (reply.status, reply.body["error"]["code"]) == (503, "commit_unknown")
    on_disk.disk.be("ok")
    await caller.persist("GET", "/ready")
    assert on_disk.rows("SELECT title FROM conversation") == [("Tides",)]
