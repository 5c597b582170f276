"""Faults of the database while answers are written: no text is wrong, and none is lost.

Each case asks questions, breaks the database while they are answered, repairs it, and reads all answers back
with newly opened services, as the next process would.
"""

import asyncio
import json
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path

import pytest

from app.host.engine_host import EngineHost
from app.open_services import open_services
from app.runs.run import Run
from app.schemas.conversations import NewMessage
from app.services import Services
from app.storage.connection import DatabaseConnection
from app.storage.sqlite.database import SqliteDatabase
from engine.testing.replay_engine import ReplayEngine
from engine.testing.script import ANSWER_WORDS

QUESTIONS = 16
WHOLE_ANSWER = "".join(f" w{i}" for i in range(ANSWER_WORDS))
LOCKED_SECONDS = 6.0
"""Time for which the lock is held: longer than a write waits for it."""


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[tuple[Services, ReplayEngine]]:
    """Serve the conversations of `folder` with an engine that needs no model."""
    engine, host = ReplayEngine(), EngineHost()
    services = await open_services(folder / "conversations.db", host)
    await engine.start()
    host.ready(engine, "identity")
    yield services, engine
    await engine.stop(0)
    await services.close()


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the database's write lock on a separate connection."""
    with closing(sqlite3.connect(folder / "conversations.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield


async def lock_held(services: Services, folder: Path, runs: list[Run], go: Callable[[], None]) -> None:
    """Hold the write lock for longer than any write waits, while all answers end."""
    with locked(folder):
        go()
        await asyncio.gather(*(run.ended.wait() for run in runs))
        await asyncio.sleep(LOCKED_SECONDS)
    await services.records.runs.settle()


async def disk_full(services: Services, _folder: Path, runs: list[Run], go: Callable[[], None]) -> None:
    """Keep the file from growing while all answers end."""

    def limit(connection: DatabaseConnection, pages: int | None = None) -> None:
        [[now]] = connection.fetch_all("PRAGMA page_count")
        most = pages or now
        connection.execute(f"PRAGMA max_page_count = {most}")

    database = services.store.database
    assert isinstance(database, SqliteDatabase)
    await database.write(limit)
    go()
    await asyncio.gather(*(run.ended.wait() for run in runs))
    await database.apart(lambda connection: limit(connection, 1 << 20))
    await services.records.runs.settle()


async def stopped_while_locked(services: Services, folder: Path, runs: list[Run], go: Callable[[], None]) -> None:
    """Stop the server while the lock is held, so that no end is stored and the next process resumes all answers."""
    with locked(folder):
        go()
        await asyncio.gather(*(run.ended.wait() for run in runs))
        await services.model.host.stop(0)
        await services.close()


Break = Callable[[Services, Path, list[Run], Callable[[], None]], Awaitable[None]]


@pytest.mark.parametrize(
    ("name", "hurt"),
    [
        ("database locked while answers end", lock_held),
        ("disk full while answers end", disk_full),
        ("server stopped while the database is locked", stopped_while_locked),
    ],
)
async def test_database_fault_loses_nothing(tmp_path: Path, name: str, hurt: Break) -> None:
    async with serving(tmp_path) as (services, engine):
        engine.hold()
        runs = []
        for number in range(QUESTIONS):
            conversation = await services.store.conversations.create({})
            # A long question leaves little room on its database page for the end of the answer.
            runs.append(await services.turns.ask(conversation.id, NewMessage(content=f"{number}" + "x" * 3800)))
        await hurt(services, tmp_path, runs, lambda: engine.allow(None))
    async with serving(tmp_path) as (services, _):
        for run in runs:
            if (resumed := services.records.runs.get(run.id, "local")) is not None:
                await resumed.ended.wait()
        answers = [await services.store.messages.get(run.answer.id) for run in runs]
    lost = sum(answer.status != "complete" for answer in answers)
    wrong = sum(answer.content != WHOLE_ANSWER for answer in answers) - lost
    print(f"\n| {name} | {QUESTIONS} answers | {wrong} wrong | {lost} lost |")
    assert (wrong, lost) == (0, 0)


def test_restore_killed_at_each_step_loses_nothing(tmp_path: Path) -> None:
    command = (sys.executable, "-m", "tests.integration.restore_kills", str(tmp_path))
    said = subprocess.run(command, check=True, timeout=300, capture_output=True, text=True).stdout
    kills = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    old, new = ["old", "old, in the log"], ["new"]
    lost = sum(kill["titles"] not in (old, new) for kill in kills)
    print(f"\n| restore killed before each step on files | {len(kills)} kills | 0 wrong | {lost} lost |")
    assert lost == 0
