"""The real server with the real engine and model, in this process."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp

from engine.config import EngineConfig
from engine.loop.async_llm import AsyncLLMEngine
from engine.offload.connector import OffloadConnector
from engine.wiring.build import build_engine
from tests.integration.api_server import api_client, running_server
from tests.waiting import until

CLEAR_SECONDS = 20.0


@asynccontextmanager
async def serving(
    config: EngineConfig, folder: Path, *, static: Path | None = None
) -> AsyncIterator[tuple[aiohttp.ClientSession, AsyncLLMEngine]]:
    """Serve an engine, and yield a client of the server and the engine. Conversations are stored in `folder`.

    static: see `running_server`.
    """
    engine = await build_real_engine(config)
    async with running_server(folder, engine, static=static) as server, api_client(server.url) as http:
        yield http, engine


async def build_real_engine(config: EngineConfig) -> AsyncLLMEngine:
    """Build an engine for `running_server`."""
    return await asyncio.to_thread(build_engine, config, lambda _: None)


async def settled(engine: AsyncLLMEngine) -> None:
    """Wait until the engine is idle and every block has been stored in the lower tiers."""
    await asyncio.to_thread(until, lambda: engine.is_idle and _nothing_waits(engine))


async def cpu_cleared(engine: AsyncLLMEngine) -> None:
    """Evict every block from CPU memory, and from the device those that no request uses.

    Blocks that are being written again after a failure are locked until the engine's loop has seen the result, so the
    loop continues between two attempts.
    """
    scheduler = engine._engine.core.scheduler
    scheduler.blocks.pool.forget_free()
    assert isinstance(scheduler.connector, OffloadConnector)
    async with asyncio.timeout(CLEAR_SECONDS):
        while not scheduler.connector.tiers.store.clear_cpu():  # noqa: ASYNC110
            await asyncio.sleep(0.002)


def _nothing_waits(engine: AsyncLLMEngine) -> bool:
    stats = engine.stats()
    return stats.blocks.unstored == 0 and (stats.tiers.store is None or stats.tiers.store.pending_writes == 0)
