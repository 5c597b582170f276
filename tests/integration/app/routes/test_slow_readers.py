"""Long conversations are read and sent in parts: a reader that does not read holds few of them."""

import asyncio
import io
import json
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from app.domain.records import Message
from app.storage import messages as storage
from app.transport import protocol
from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import RunningServer, api_client, running_server
from tests.integration.conversations_client import created, said

Api = RunningServer[ReplayEngine]
PATHS = ("", "/tree", "/export", "/export?format=markdown", "/export?format=text")
NUM_MESSAGES = 40
MOST_PARTS = 12
"""Parts of 256 KiB that fit into the buffers of a connection, generously."""


@pytest.fixture
async def client(api: Api) -> AsyncIterator[aiohttp.ClientSession]:
    async with api_client(api.url) as client:
        yield client


async def test_answers_in_many_parts_equal_answers_in_one(
    client: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation = await created(client)
    for question in ("one", "two", "three"):
        await said(client, conversation, question)

    async def answers() -> list[Any]:
        found = []
        for path in PATHS:
            response = await client.get(f"/api/conversations/{conversation}{path}")
            assert response.status == 200
            text = await response.text()
            found.append(json.loads(text) | {"exported_at": 0} if text.startswith("{") else text)
        return found

    whole = await answers()
    monkeypatch.setattr(storage, "PART_MESSAGES", 1)
    assert await answers() == whole


async def test_empty_conversation_has_an_empty_list(client: aiohttp.ClientSession) -> None:
    conversation = await created(client)
    for path in ("", "/tree"):
        response = await client.get(f"/api/conversations/{conversation}{path}")
        assert (await response.json())["messages"] == []


async def imported(client: aiohttp.ClientSession, text: str) -> str:
    """Import a conversation of NUM_MESSAGES messages, and return its id."""
    message: dict[str, Any] = {"role": "user", "content": text, "status": "complete", "created_at": 1.0}
    messages = [
        {**message, "id": str(index), "parent_id": str(index - 1) if index else None} for index in range(NUM_MESSAGES)
    ]
    conversation: dict[str, Any] = {"id": "c", "title": None, "params": {}, "created_at": 1.0, "updated_at": 1.0}
    conversation |= {"head_id": str(NUM_MESSAGES - 1), "messages": messages}
    file = {"format": "ebb-conversations", "format_version": 3, "conversations": [conversation]}
    response = await client.post("/api/import", data=io.BytesIO(json.dumps(file).encode()))
    [found] = (await response.json())["imported"]
    assert isinstance(found, str)
    return found


@pytest.mark.parametrize("path", [each for each in PATHS if each != "/tree"])
async def test_reader_that_does_not_read_holds_few_parts(
    tmp_path: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "WRITE_SECONDS", 0.2)
    async with running_server(tmp_path, ReplayEngine()) as api, api_client(api.url) as client:
        conversation = await imported(client, "x" * storage.PART_CHARACTERS)
        some, num_parts = storage.MessageStore.some, 0

        async def count(store: storage.MessageStore, ids: list[str]) -> list[Message]:
            nonlocal num_parts
            num_parts += 1
            return await some(store, ids)

        monkeypatch.setattr(storage.MessageStore, "some", count)
        with socket.socket() as lazy:
            lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 12)
            lazy.connect(("127.0.0.1", int(api.url.rpartition(":")[2])))
            lazy.sendall(f"GET /api/conversations/{conversation}{path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            async with asyncio.timeout(20):
                # The connections of a server have no event.
                while not num_parts or api.connections.busy:  # noqa: ASYNC110
                    await asyncio.sleep(0.001)
        assert num_parts <= MOST_PARTS < NUM_MESSAGES
