"""Work that ends when the client of its request leaves: documents and searches."""

import asyncio
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.storage.search import SearchStore
from tests.integration.api_server import RunningServer, running_server
from tests.unit.fake_engine import FakeEngine

Api = RunningServer[FakeEngine]


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Api]:
    async with running_server(tmp_path, FakeEngine()) as api:
        yield api


async def send(api: Api, method: str, path: str, body: bytes = b"") -> asyncio.StreamWriter:
    """Send a request, and return its connection."""
    _, writer = await asyncio.open_connection("127.0.0.1", int(api.url.rpartition(":")[2]))
    writer.write(f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
    return writer


async def test_child_process_of_a_document_ends_when_the_client_leaves(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read two documents with processes that never end. The second one has to wait for the place of the first one."""
    start, started = asyncio.create_subprocess_exec, asyncio.Queue[Process]()

    async def start_sleeping(*_: object, **options: Any) -> Process:
        process = await start("sleep", "1000", **options)
        started.put_nowait(process)
        return process

    monkeypatch.setattr(asyncio, "create_subprocess_exec", start_sleeping)
    async with asyncio.timeout(20):
        first, second = [await send(api, "POST", "/api/document-text", b"PK") for _ in range(2)]
        process = await started.get()
        first.close()
        await process.wait()
        process = await started.get()
        second.close()
        await process.wait()
    assert started.empty()


async def test_search_ends_when_the_client_leaves(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    async def search(*_: object, **__: object) -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    monkeypatch.setattr(SearchStore, "messages", search)
    async with asyncio.timeout(20):
        writer = await send(api, "GET", "/api/search?q=sea")
        await began.wait()
        writer.close()
        await ended.wait()
