"""Two real servers on one database: an answer outlives the server that began it."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from bench.server import EbbServer, ServerSettings
from tests.on_postgres import url_of
from tests.run_reader import RunReader

FLAGS = ("--kv-memory", "64MiB", "--cpu-kv-memory", "0", "--redis-url", "off", "--chat-titles", "first-words")


def body(number: int) -> dict[str, Any]:
    """Build a question whose answer is long, sampled, and the same each time."""
    params = {"temperature": 0.8, "seed": number, "max_tokens": 300, "ignore_eos": True}
    return {"content": f"Tell me story number {number}, about rivers, lakes and the sea.", "params": params}


@pytest.fixture
async def servers(
    shallow_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[list[EbbServer]]:
    """Start two servers that share a secret and a database."""
    monkeypatch.setenv("EBB_DATABASE_URL", url_of(tmp_path))
    secret = tmp_path / "secret"
    secret.write_bytes(os.urandom(32))
    flags = (*FLAGS, "--model", str(shallow_model), "--secret-file", str(secret))
    made = [EbbServer(ServerSettings(name, flags), tmp_path / name) for name in ("first", "second")]
    async with AsyncExitStack() as stack:
        await asyncio.gather(*(stack.enter_async_context(each) for each in made))
        yield made


async def new_conversation(server: EbbServer) -> str:
    async with aiohttp.ClientSession(server.base_url) as session, session.post("/api/conversations", json={}) as made:
        return str((await made.json())["id"])


async def read_whole(server: EbbServer, number: int) -> RunReader:
    """Ask question `number`, and read its answer to the end."""
    reader = RunReader(lambda: server.base_url)
    await reader.ask(await new_conversation(server), body(number))
    return reader


async def test_other_server_finishes_answers_of_a_killed_one(servers: list[EbbServer]) -> None:
    first, second = servers
    whole = await asyncio.gather(*(read_whole(second, number) for number in range(3)))
    readers = [RunReader(lambda: first.base_url or second.base_url) for _ in whole]
    places = [await new_conversation(first) for _ in readers]
    reading = [
        asyncio.create_task(reader.ask(place, body(number)))
        for number, (reader, place) in enumerate(zip(readers, places, strict=True))
    ]
    for reader in readers:
        await reader.until(40)
    await first.kill()
    async with asyncio.timeout(60):
        await asyncio.gather(*reading)
    assert [each.text for each in readers] == [each.text for each in whole]
    assert all(each.resumed for each in readers)


async def status_of(url: str, key: str) -> int:
    headers = {"Authorization": f"Bearer {key}"}
    async with aiohttp.ClientSession(url, headers=headers) as session, session.get("/api/conversations") as response:
        return response.status


async def test_answer_is_followed_and_cancelled_at_the_other_server(servers: list[EbbServer]) -> None:
    first, second = servers
    reader = RunReader(lambda: first.base_url)
    reading = asyncio.create_task(reader.ask(await new_conversation(first), body(0)))
    await reader.until(20)
    other = RunReader(lambda: second.base_url, run_id=reader.run_id)
    following = asyncio.create_task(other.follow())
    await other.until(len(reader.text) + 1)
    route = f"/api/runs/{reader.run_id}/cancel"
    async with aiohttp.ClientSession(second.base_url) as session, session.post(route) as response:
        assert (await response.json())["status"] == "cancelled"
    async with asyncio.timeout(20):
        await asyncio.gather(reading, following)
    assert reader.text == other.text


async def test_key_revoked_at_one_server_is_refused_by_the_other(servers: list[EbbServer]) -> None:
    first, second = servers
    assert first.base_url is not None
    assert second.base_url is not None
    async with aiohttp.ClientSession(first.base_url) as session:
        async with session.post("/api/admin/keys", json={"name": "root", "scope": "admin"}) as response:
            root = (await response.json())["key"]
        session.headers["Authorization"] = f"Bearer {root}"
        async with session.post("/api/admin/keys", json={"name": "alice", "tenant": "alice"}) as response:
            key = (await response.json())["key"]
        async with asyncio.timeout(20):
            while await status_of(second.base_url, key) != 200:
                pass
        async with session.delete(f"/api/admin/keys/{key.split('-')[2]}") as response:
            assert response.status == 204
    async with asyncio.timeout(20):
        while await status_of(second.base_url, key) != 401:
            pass


async def test_frozen_server_changes_nothing_when_it_wakes_up(servers: list[EbbServer]) -> None:
    first, second = servers
    whole = await read_whole(second, 0)
    reader, place = RunReader(lambda: first.base_url), await new_conversation(first)
    reading = asyncio.create_task(reader.ask(place, body(0)))
    await reader.until(40)
    frozen = first.pid
    os.kill(frozen, signal.SIGSTOP)
    try:
        reading.cancel()
        other = RunReader(lambda: second.base_url, reader.run_id, reader.text, last_event_id=reader.last_event_id)
        async with asyncio.timeout(60):
            await other.follow()
    finally:
        os.kill(frozen, signal.SIGCONT)
    assert other.text == whole.text
    # The first server answers once it has noticed, and then knows no more than the database.
    again = RunReader(lambda: first.base_url, reader.run_id)
    async with asyncio.timeout(60):
        await again.follow()
    assert again.text == whole.text
    route = f"/api/conversations/{place}"
    async with aiohttp.ClientSession(second.base_url) as session, session.get(route) as response:
        assert (await response.json())["messages"][1]["content"] == whole.text
