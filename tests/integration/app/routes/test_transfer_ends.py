"""Imports and exports whose client leaves: the work ends."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from app.domain.records import Conversation, Message
from app.routes import transfer
from app.storage import imports
from app.storage.imports import Imported
from app.tenants.tenant_threads import MOST_OF_ONE
from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import RunningServer, api_client, running_server
from tests.integration.conversations_client import created, said
from tests.unit.costs.test_imports import chatgpt

Api = RunningServer[ReplayEngine]


class EndlessWork:
    """Work on a thread that does not end by itself."""

    def __init__(self) -> None:
        self.began = threading.Event()
        self.num_steps = 0

    def read(self, _body: bytes, on_value: Callable[[], None]) -> None:
        """Read a file without an end, in place of `read_any`."""
        while True:
            self.num_steps += 1
            self.began.set()
            on_value()

    async def parts(self, _conversation: Conversation) -> AsyncIterator[list[Message]]:
        """Yield parts without an end, in place of those of a conversation."""
        while True:
            yield []

    def write(self, *_: object) -> str:
        """Write a part, in place of `messages_text`."""
        self.num_steps += 1
        self.began.set()
        return "x"


async def check_end(api: Api, work: EndlessWork, request: bytes) -> None:
    """Send a request, close the connection once its work has begun, and check that the work ends."""
    _, writer = await asyncio.open_connection("127.0.0.1", int(api.url.rpartition(":")[2]))
    writer.write(request)
    assert await asyncio.to_thread(work.began.wait, 20)
    writer.close()
    async with asyncio.timeout(20):
        # The connections of a server have no event.
        while api.connections.busy:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        # The tenant has one place, so this begins after the last step.
        assert MOST_OF_ONE == 1
        num_steps = await api.services.tenant_threads.run(api.services.store.tenant, lambda: work.num_steps)
        assert await api.services.tenant_threads.run(api.services.store.tenant, lambda: work.num_steps) == num_steps


@pytest.mark.parametrize("path", ["/api/import", "/api/import/preview"])
async def test_reading_of_a_file_ends_when_the_client_leaves(
    api: Api, path: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    work = EndlessWork()
    monkeypatch.setattr(transfer, "read_any", work.read)
    # So large that uvicorn stops reading for a while.
    body = b" " * (1 << 20)
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
    await check_end(api, work, head.encode() + body)
    assert "an unexpected error" not in caplog.text


async def test_import_whose_client_leaves_stores_nothing(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    began, batches = asyncio.Event(), imports._batches

    def slow(given: Iterable[Imported]) -> Iterator[Any]:
        for number, batch in enumerate(batches(given)):
            if number:
                began.set()
            yield batch

    # Batches of one message, of which some are stored before the client leaves, and most are not.
    monkeypatch.setattr(imports, "BATCH_MESSAGES", 1)
    monkeypatch.setattr(imports, "_batches", slow)
    body = json.dumps([chatgpt(2000)]).encode()
    head = f"POST /api/import HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    _, writer = await asyncio.open_connection("127.0.0.1", int(api.url.rpartition(":")[2]))
    writer.write(head + body)
    async with asyncio.timeout(20):
        await began.wait()
        writer.close()
        # The end of an import has no event.
        while await api.services.store.database.read("SELECT * FROM staged"):  # noqa: ASYNC110
            await asyncio.sleep(0.001)
    assert not await api.services.store.database.read("SELECT * FROM shown_conversation")


@pytest.mark.parametrize("path", ["/api/conversations/{}/export", "/api/export"])
async def test_export_ends_when_the_client_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    work = EndlessWork()
    monkeypatch.setattr(transfer, "messages_text", work.write)
    async with running_server(tmp_path, ReplayEngine()) as api, api_client(api.url) as client:
        conversation = await created(client)
        await said(client, conversation, "hello")
        monkeypatch.setattr(api.services.turns, "all_parts", work.parts)
        request = f"GET {path.format(conversation)} HTTP/1.1\r\nHost: localhost\r\n\r\n"
        await check_end(api, work, request.encode())
