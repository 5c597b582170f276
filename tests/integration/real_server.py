"""The real server with the real engine and model, in this process."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp

from engine.async_llm import AsyncLLMEngine
from engine.build import build_engine
from engine.config import EngineConfig
from tests.integration.api_server import api_client, running_server
from tests.waiting import until


@asynccontextmanager
async def serving(
    config: EngineConfig, folder: Path, *, static: Path | None = None
) -> AsyncIterator[tuple[aiohttp.ClientSession, AsyncLLMEngine]]:
    """Serve an engine, and yield a client of the server and the engine. Conversations are stored in `folder`.

    static: see `running_server`.
    """
    engine = await asyncio.to_thread(build_engine, config, lambda _: None)
    async with running_server(folder, engine, static=static) as server, api_client(server.url) as http:
        yield http, engine


async def settled(engine: AsyncLLMEngine) -> None:
    """Wait until the engine is idle and every block has been stored in the lower tiers."""
    await asyncio.to_thread(until, lambda: engine.is_idle and _nothing_waits(engine))


def _nothing_waits(engine: AsyncLLMEngine) -> bool:
    stats = engine.stats()
    return stats.unstored_blocks == 0 and (stats.tiers is None or stats.tiers.pending_writes == 0)
