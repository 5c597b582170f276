"""Erasure of a deleted conversation's blocks by a server after a kill -9, from a Redis that was away."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import aiohttp

from bench.server import ServerSettings, settle
from cache_tiers.owners.block_key import KEY_BYTES
from cache_tiers.redis.keys import KEY_PREFIX
from tests.forked_server import ForkedServer
from tests.integration.sse_events import all_events
from tests.redis_server import RedisServer
from tests.sizes import MANY_PROCESSES
from tests.waiting import until

pytest_plugins = ["tests.store_fixtures"]

FLAGS = ("--kv-memory", "64MiB", "--cpu-kv-memory", "64MiB")
SYSTEM = "You know a lot about rivers, and say what you know in few words. " * 12
CALM = {"temperature": 0, "max_tokens": 40, "ignore_eos": True}


async def asked(http: aiohttp.ClientSession, content: str) -> str:
    """Ask a question in a new conversation and return the conversation's id."""
    made: dict[str, Any] = {"system_prompt": SYSTEM, "params": CALM}
    async with http.post("/api/conversations", json=made) as response:
        id_ = str((await response.json())["id"])
    async with http.post(f"/api/conversations/{id_}/messages", json={"content": content}) as response:
        assert (await all_events(response))[-1].data["message"]["status"] == "incomplete"
    return id_


def on_disk(state: Path) -> set[bytes]:
    """Return the keys of the blocks in the disk tier of a server."""
    return {bytes.fromhex(path.name) for path in (state / "kv").rglob("?" * (2 * KEY_BYTES))}


def in_redis(redis_server: RedisServer) -> set[bytes]:
    """Return the keys of the blocks in a Redis."""
    with redis_server.client() as client:
        return {bytes.fromhex(name.removeprefix(KEY_PREFIX).decode()) for name in client.scan_iter(KEY_PREFIX + b"*")}


def owed(state: Path) -> set[bytes]:
    """Return the keys of the blocks whose erasure the server owes."""
    with closing(sqlite3.connect(state / "conversations.db")) as database:
        rows = b"".join(keys for (keys,) in database.execute("SELECT block_keys FROM owed_erasure"))
    return {rows[start : start + KEY_BYTES] for start in range(0, len(rows), KEY_BYTES)}


async def test_erasure_that_redis_missed_is_made_after_kill_9(
    shallow_model: Path, tmp_path: Path, redis_server: RedisServer
) -> None:
    state = tmp_path / "state"
    flags = (*FLAGS, "--model", str(shallow_model), "--redis-url", f"unix://{redis_server.socket}")
    async with ForkedServer(ServerSettings("owed", flags), state) as server:
        async with aiohttp.ClientSession(server.client.base_url) as http:
            await asked(http, "Which one is the widest? " * 8)
            assert await settle(server, 10)
            kept = in_redis(redis_server)
            deleted = await asked(http, "Which one is the longest of all? " * 30)
            assert await settle(server, 10)
            left = in_redis(redis_server) - kept
            assert len(left) > 2
            redis_server.freeze()
            async with http.delete(f"/api/conversations/{deleted}?permanently=true") as response:
                assert response.status == 204
            await asyncio.to_thread(until, lambda: left <= owed(state) and not kept & owed(state))
        await server.restart_after_kill()
        redis_server.thaw()
        await asyncio.to_thread(until, lambda: not left & in_redis(redis_server), timeout=30)
        assert kept <= in_redis(redis_server)
        await asyncio.to_thread(until, lambda: not owed(state))


@MANY_PROCESSES
async def test_erasure_without_the_disk_is_made_once_it_is_on(shallow_model: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    flags = (*FLAGS, "--model", str(shallow_model), "--redis-url", "off", "--disk-kv-size")
    async with ForkedServer(ServerSettings("with", (*flags, "256MiB")), state) as server:
        async with aiohttp.ClientSession(server.client.base_url) as http:
            deleted = await asked(http, "Which one is the longest of all? " * 30)
        assert await settle(server, 10)
        kept = on_disk(state)
    async with ForkedServer(ServerSettings("without", (*flags, "0")), state) as server:
        async with (
            aiohttp.ClientSession(server.client.base_url) as http,
            http.delete(f"/api/conversations/{deleted}?permanently=true") as response,
        ):
            assert response.status == 204
        assert await settle(server, 10)
    owing = owed(state)
    assert len(owing & kept) > 2
    async with ForkedServer(ServerSettings("with again", (*flags, "256MiB")), state):
        await asyncio.to_thread(until, lambda: not owing & on_disk(state), timeout=30)
        await asyncio.to_thread(until, lambda: not owed(state))
