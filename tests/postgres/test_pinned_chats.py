"""KV of pinned chats on two real servers of one database: a pin is set at one of them, and removed at the other."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import aiohttp

from app.conversations.pinned_kv import PinnedKV
from app.tenants.limits import TenantLimits
from cache_tiers.config import DiskConfig
from tests.disk_rig import promised_files
from tests.integration.api_server import api_client, running_server
from tests.integration.conversations_client import created, said
from tests.integration.engine_rig import engine_config
from tests.integration.real_server import build_real_engine
from tests.on_postgres import url_of
from tests.waiting import until

QUESTION = "The river rises in the hills, runs past the mill, and meets the sea at the harbour. " * 12
SHORT = {"max_tokens": 4, "temperature": 0}
RESERVED = 1 << 28


@dataclass(frozen=True)
class Server:
    """A server, and the folder of its disk tier."""

    http: aiohttp.ClientSession
    kv: Path
    pinned_kv: PinnedKV

    async def pin(self, chat: str, *, pinned: bool) -> None:
        async with self.http.patch(f"/api/conversations/{chat}", json={"pinned": pinned}) as response:
            assert response.status == 200, await response.text()

    async def until_promised(self, *, promised: bool) -> None:
        await asyncio.to_thread(until, lambda: bool(promised_files(self.kv)) == promised)


@asynccontextmanager
async def serving(model: Path, folder: Path, name: str, kv: Path) -> AsyncIterator[Server]:
    own = folder / name
    own.mkdir()
    config = engine_config(model, own / "state", blocks=60, redis_url="off", disk=True)
    assert config.cache.tiers is not None
    tiers = replace(config.cache.tiers, disk=DiskConfig(kv, 2 * RESERVED))
    engine = await build_real_engine(replace(config, cache=replace(config.cache, tiers=tiers)))
    async with running_server(own, engine, database_url=url_of(folder)) as server, api_client(server.url) as http:
        services = server.services
        await services.store.limits.set("local", TenantLimits(kv_reserved=RESERVED))
        await services.access.ring.read()
        services.model.pinned_kv.start()
        yield Server(http, kv, services.model.pinned_kv)


async def test_pin_reaches_the_disk_of_every_server(shallow_model: Path, tmp_path: Path) -> None:
    async with (
        serving(shallow_model, tmp_path, "first", tmp_path / "kv-1") as first,
        serving(shallow_model, tmp_path, "second", tmp_path / "kv-2") as second,
    ):
        chat = await created(first.http, params=SHORT)
        await said(first.http, chat, QUESTION)
        await second.pin(chat, pinned=True)
        await first.until_promised(promised=True)
        await second.pin(chat, pinned=False)
        await first.until_promised(promised=False)


async def test_shared_folder_is_released_by_the_server_that_is_left(shallow_model: Path, tmp_path: Path) -> None:
    async with serving(shallow_model, tmp_path, "second", tmp_path / "kv") as second:
        async with serving(shallow_model, tmp_path, "first", tmp_path / "kv") as first:
            chat = await created(first.http, params=SHORT)
            await said(first.http, chat, QUESTION)
            await first.pin(chat, pinned=True)
            await first.until_promised(promised=True)
            await asyncio.to_thread(until, lambda: bool(second.pinned_kv._kept))
        await second.pin(chat, pinned=False)
        await second.until_promised(promised=False)
