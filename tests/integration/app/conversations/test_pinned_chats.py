"""KV of pinned chats, over HTTP with the real model and a disk: what is promised, until when, and what ends it."""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from app.tenants.limits import TenantLimits
from cache_tiers.disk.value_file import file_bytes
from engine.loop.async_llm import AsyncLLMEngine
from tests.disk_rig import promised_files
from tests.integration.api_server import RunningServer, api_client, running_server
from tests.integration.conversations_client import created, read, said
from tests.integration.engine_rig import BLOCK, block_nbytes, engine_config
from tests.integration.real_server import build_real_engine
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("patient_loads")

QUESTION = "The river rises in the hills, runs past the mill, and meets the sea at the harbour. " * 12
SHORT = {"max_tokens": 4, "temperature": 0}
RESERVED = 1 << 30


@asynccontextmanager
async def serving(model: Path, folder: Path, reserved: int | None = RESERVED) -> AsyncIterator[aiohttp.ClientSession]:
    async with opened(model, folder, reserved) as (_, http):
        yield http


@asynccontextmanager
async def opened(
    model: Path, folder: Path, reserved: int | None = RESERVED, *, ready: bool = True
) -> AsyncIterator[tuple[RunningServer[AsyncLLMEngine], aiohttp.ClientSession]]:
    engine = await build_real_engine(engine_config(model, folder / "state", blocks=60, redis_url="off", disk=True))
    async with running_server(folder, engine, ready=ready) as server, api_client(server.url) as http:
        await server.services.store.limits.set("local", TenantLimits(kv_reserved=reserved))
        await server.services.access.ring.read()
        server.services.model.pinned_kv.start()
        yield server, http


async def state(http: aiohttp.ClientSession, chat: str) -> dict[str, Any]:
    return await read(http, f"/api/conversations/{chat}/promise")


async def pin(http: aiohttp.ClientSession, chat: str, *, pinned: bool = True) -> None:
    response = await http.patch(f"/api/conversations/{chat}", json={"pinned": pinned})
    assert response.status == 200, await response.text()


def promised(folder: Path) -> list[Path]:
    return promised_files(folder / "state" / "kv")


async def until_promised(folder: Path, least: int, most: int = 1 << 20) -> int:
    """Wait until that many blocks are promised, and return the number."""
    await asyncio.to_thread(until, lambda: least <= len(promised(folder)) <= most)
    return len(promised(folder))


async def test_pinned_chat_is_promised_as_it_grows(shallow_model: Path, tmp_path: Path) -> None:
    async with serving(shallow_model, tmp_path) as http:
        chat = await created(http, params=SHORT)
        first = await said(http, chat, QUESTION)
        assert (await state(http, chat))["reason"] == "not_pinned"
        assert not promised(tmp_path)
        await pin(http, chat)
        num_full = (first["usage"]["prompt_tokens"] + first["usage"]["completion_tokens"] - 1) // BLOCK
        assert await until_promised(tmp_path, num_full) == num_full
        kept = await state(http, chat)
        assert (kept["tokens"], kept["declined"], kept["reason"]) == (num_full * BLOCK, 0, None)
        assert kept["bytes"] == num_full * block_nbytes(shallow_model)
        await said(http, chat, QUESTION)
        assert await until_promised(tmp_path, 2 * num_full - 1) > num_full
        await pin(http, chat, pinned=False)
        await until_promised(tmp_path, 0, 0)
        assert (await state(http, chat))["reason"] == "not_pinned"


async def test_promise_is_renewed_when_the_server_starts(shallow_model: Path, tmp_path: Path) -> None:
    async with serving(shallow_model, tmp_path) as http:
        chat = await created(http, params=SHORT)
        await said(http, chat, QUESTION)
        await pin(http, chat)
        before = await state(http, chat)
        count = await until_promised(tmp_path, 1)
    for path in promised(tmp_path):
        os.utime(path, (time.time() + 60, path.stat().st_mtime))
    async with serving(shallow_model, tmp_path) as http:
        assert await until_promised(tmp_path, count) == count
        assert await state(http, chat) == before


async def test_chat_unpinned_while_the_model_loads_is_released(shallow_model: Path, tmp_path: Path) -> None:
    async with serving(shallow_model, tmp_path) as http:
        chat = await created(http, params=SHORT)
        await said(http, chat, QUESTION)
        await pin(http, chat)
        await until_promised(tmp_path, 1)
    async with opened(shallow_model, tmp_path, ready=False) as (server, http):
        # The server has read the marks.
        await asyncio.to_thread(until, lambda: bool(server.services.model.pinned_kv._kept))
        await pin(http, chat, pinned=False)
        assert promised(tmp_path)
        server.services.model.host.ready(server.engine, "identity")
        await until_promised(tmp_path, 0, 0)


async def test_start_of_another_pinned_chat_stays_promised(shallow_model: Path, tmp_path: Path) -> None:
    async with serving(shallow_model, tmp_path) as http:
        chats = [await created(http, params=SHORT, system_prompt=QUESTION) for _ in range(2)]
        for number, chat in enumerate(chats):
            await said(http, chat, f"Number {number}: {QUESTION}")
            await pin(http, chat)
            assert (await state(http, chat))["reason"] is None
        kept = (await state(http, chats[0]))["tokens"] // BLOCK
        both = await until_promised(tmp_path, kept + 1)
        response = await http.post("/api/conversations/bulk", json={"conversation_ids": chats[1:], "pinned": False})
        assert response.status == 200
        assert await until_promised(tmp_path, 1, both - 1) == kept
        deleted = await http.delete(f"/api/conversations/{chats[0]}", params={"permanently": "true"})
        assert deleted.status == 204
        await until_promised(tmp_path, 0, kept - 1)


async def test_chat_that_is_not_kept_says_why(shallow_model: Path, tmp_path: Path) -> None:
    async with serving(shallow_model, tmp_path, reserved=None) as http:
        chat = await created(http, params=SHORT)
        await pin(http, chat)
        assert await state(http, chat) == {
            "tokens": 0,
            "declined": 0,
            "bytes": 0,
            "reason": "no_reservation",
        }
    room = 2 * file_bytes(block_nbytes(shallow_model)) + 1000
    async with serving(shallow_model, tmp_path, reserved=room) as http:
        assert (await state(http, chat))["reason"] == "not_computed"
        await said(http, chat, QUESTION)
        await until_promised(tmp_path, 2)
        kept = await state(http, chat)
        assert (kept["tokens"], kept["reason"]) == (2 * BLOCK, "reservation_full")
        assert kept["declined"] > 0
