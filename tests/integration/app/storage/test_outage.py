"""A full disk or a locked database: clients get an error with Retry-After, /health reports it, and service recovers."""

import asyncio
import logging
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import aiohttp
import pytest

from app.conversations import deletions
from app.domain import storage_health
from app.runs.storage_probe import StorageProbe
from app.storage import upkeep
from app.storage.sqlite.database import SqliteDatabase
from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import RunningServer, api_client, running_server
from tests.waiting import until

CONVERSATIONS = "/api/conversations"
WAITING = ("maintenance of the database", "removal of deleted conversations and messages")


@contextmanager
def full_disk(server: RunningServer[ReplayEngine]) -> Iterator[None]:
    """Cap the database at its current size, which SQLite reports as a full disk, until the block ends."""
    database = server.services.store.database
    assert isinstance(database, SqliteDatabase)
    writer = database._writer.raw
    pages = writer.execute("PRAGMA page_count").fetchone()[0]
    before = writer.execute("PRAGMA max_page_count").fetchone()[0]
    writer.execute(f"PRAGMA max_page_count = {pages}")
    yield
    writer.execute(f"PRAGMA max_page_count = {before}")


@contextmanager
def foreign_lock(folder: Path) -> Iterator[None]:
    """Hold the database's write lock on another connection, as another program may, until the block ends."""
    other = sqlite3.connect(folder / "conversations.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    yield
    other.execute("ROLLBACK")
    other.close()


async def refused(http: aiohttp.ClientSession) -> aiohttp.ClientResponse:
    """Create conversations until one is refused and return that response. Pages in use may have room for a few."""
    for _ in range(1000):
        response = await http.post(CONVERSATIONS, json={"title": "x" * 200})
        if response.status != 201:
            return response
    raise AssertionError("no request was refused")


async def status_of(http: aiohttp.ClientSession, path: str) -> tuple[int, str, str | None]:
    response = await http.get(path)
    body = await response.json()
    return response.status, body["status"], body["reason"]


async def test_full_disk_is_507_and_degrades_health(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with running_server(tmp_path, ReplayEngine()) as server, api_client(server.url) as http:
        with full_disk(server):
            response = await refused(http)
            assert response.status == 507
            assert response.headers["Retry-After"] == "30"
            error = (await response.json())["error"]
            assert error["code"] == "storage_full"
            assert error["message"].startswith("The disk of the state directory is full. Free some space")
            reason = error["message"]
            assert await status_of(http, "/health") == (200, "degraded", reason)
            assert await status_of(http, "/ready") == (503, "degraded", reason)
            assert (await (await http.get("/health")).json())["reason_code"] == "storage_full"
            completion = await http.post("/v1/completions", json={"model": "fake-1", "prompt": "x"})
            assert completion.status == 200, "an answer that is not stored needs no disk"
        assert (await http.post(CONVERSATIONS, json={})).status == 201
        assert await status_of(http, "/ready") == (200, "ok", None)
    assert "Traceback" not in caplog.text


async def test_locked_database_is_503_and_recovers_without_traffic(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(storage_health, "PATIENT_MILLISECONDS", 20)
    monkeypatch.setattr(storage_health, "IMPATIENT_MILLISECONDS", 1)
    async with running_server(tmp_path, ReplayEngine()) as server, api_client(server.url) as http:
        probe = StorageProbe(server.services.store.database, seconds=0.01)
        probe.begin()
        with foreign_lock(tmp_path):
            response = await refused(http)
            assert response.status == 503
            assert response.headers["Retry-After"] == "5"
            assert (await response.json())["error"]["code"] == "storage_unavailable"
            assert (await status_of(http, "/ready"))[:2] == (503, "degraded")
            assert (await http.get(CONVERSATIONS)).status == 200, "readers do not wait for writers"
        await asyncio.to_thread(until, lambda: "the database accepts writes again" in caplog.text)
        assert await status_of(http, "/ready") == (200, "ok", None)
        await probe.stop()
    assert "Traceback" not in caplog.text


async def test_background_work_waits_for_lock_without_tracebacks(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage_health, "PATIENT_MILLISECONDS", 1)
    monkeypatch.setattr(storage_health, "IMPATIENT_MILLISECONDS", 1)
    monkeypatch.setattr(upkeep, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(deletions, "LOOK_SECONDS", 0.01)
    async with running_server(tmp_path, ReplayEngine()) as server:
        services = server.services
        with foreign_lock(tmp_path):
            services.store.upkeep.begin()
            services.deletions.begin()
            lines = [f"{work} is delayed: Another process" for work in WAITING]
            await asyncio.to_thread(until, lambda: all(line in caplog.text for line in lines))
        await services.store.upkeep.stop()
        await services.deletions.stop()
    assert "Traceback" not in caplog.text
