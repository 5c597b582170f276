"""Bodies of one tenant that take much memory together."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from app.http import request_body
from app.http.request_body import BodyMemory
from tests.integration.tenants import People, serving_people

MOST = 1 << 20
FILE = json.dumps({"format": "ebb-conversations", "format_version": 3, "conversations": []}).encode()


@pytest.fixture
async def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[People]:
    monkeypatch.setattr(request_body, "MOST_OF_ONE", MOST)
    async with serving_people(tmp_path) as people:
        yield people


async def status(client: aiohttp.ClientSession, body: bytes, encoding: str = "identity") -> int:
    async with client.post("/api/import/preview", data=body, headers={"Content-Encoding": encoding}) as response:
        return response.status


async def test_unfinished_bodies_of_a_tenant_are_bounded(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    is_read, grow = asyncio.Event(), BodyMemory.grow

    def grown(memory: BodyMemory, num_bytes: int) -> None:
        grow(memory, num_bytes)
        if memory._num_bytes == MOST - 1:
            is_read.set()

    monkeypatch.setattr(BodyMemory, "grow", grown)
    port, key = int(people.server.url.rpartition(":")[2]), people.keys["alice"]
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    head = (
        f"POST /api/import HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\nContent-Length: {MOST}\r\n\r\n"
    )
    writer.write(head.encode() + bytes(MOST - 1))
    async with asyncio.timeout(20):
        await is_read.wait()
        assert await status(people.alice, FILE) == 429
        assert await status(people.bob, FILE) == 200
        writer.close()
        while await status(people.alice, FILE) != 200:
            pass


async def test_decompressed_bytes_count(people: People) -> None:
    body = gzip.compress(FILE + b" " * MOST)
    assert len(body) < MOST // 100
    assert await status(people.alice, body, "gzip") == 429
    assert await status(people.alice, gzip.compress(FILE), "gzip") == 200


async def test_answer_in_progress_holds_no_memory_for_its_body(people: People) -> None:
    people.engine.hold()
    body = {"model": "fake-1", "prompt": "x", "stream": True, "user": "u" * (MOST * 3 // 4)}
    running = [await people.alice.post("/v1/completions", json=body) for _ in range(3)]
    assert [each.status for each in running] == [200] * 3
    people.engine.allow(None)
    for each in running:
        assert b"[DONE]" in await each.read()
