"""The walks of docs/concepts/architecture.md: a message from its route to the kernels, a block's key to Redis."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp

from engine.config import EngineConfig
from engine.loop.async_llm import AsyncLLMEngine
from engine.wiring.build import build_engine
from tests.integration.api_server import api_client, running_server
from tests.integration.conversations_client import created, said
from tests.integration.engine_rig import engine_config
from tests.integration.real_server import settled
from tests.redis_server import RedisServer
from tests.waiting import until
from tests.walks import ROOT, Walker

pytest_plugins = ["tests.store_fixtures"]

MOST_FILES = 150
"""Files of the product that may run code for one message."""
MOST_STATIONS = 12
ROUTINE = ("Lease.renew", "AccessWatch._look", "AsyncLLMEngine.stats")
"""Functions that a server calls every second, whether or not there is a message."""
CALM = {"temperature": 0, "max_tokens": 8}
QUESTION = "What is a tide, and what has the moon to do with it? " * 8


def stations(heading: str) -> list[tuple[str, str]]:
    """Return path and function of each station below `heading` in the document."""
    text = (ROOT / "docs" / "concepts" / "architecture.md").read_text()
    section = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    found = re.findall(r"^\| \d+ \| `([\w/]+\.py)` \| `([\w.]+)` \|", section, re.MULTILINE)
    assert 0 < len(found) <= MOST_STATIONS
    return found


@asynccontextmanager
async def serving(
    config: EngineConfig, folder: Path, walker: Walker
) -> AsyncIterator[tuple[aiohttp.ClientSession, AsyncLLMEngine]]:
    """Serve an engine, all of whose threads the walker follows."""
    with walker.follow_threads():
        engine = await asyncio.to_thread(build_engine, config, lambda _: None)
        async with running_server(folder, engine) as server, api_client(server.url) as http:
            yield http, engine


async def test_message_walks_from_its_route_to_the_kernels(shallow_model: Path, tmp_path: Path) -> None:
    config = engine_config(shallow_model, tmp_path / "state", redis_url="off")
    # Packed weights are written two seconds after the start, which may be during the message.
    config = config.with_fields(tiers=None, packed_size=0)
    walker = Walker()
    async with serving(config, tmp_path, walker) as (http, _):
        conversation = await created(http, params=CALM)
        with walker.record() as routine:
            await asyncio.to_thread(until, lambda: routine.has_seen(*ROUTINE))
        with walker.record() as message:
            await said(http, conversation, QUESTION)
    assert message.missing(stations("The walk of a message")) == []
    assert len(message.files(without=routine)) <= MOST_FILES


async def test_block_walks_from_its_key_to_redis(
    shallow_model: Path, tmp_path: Path, redis_server: RedisServer
) -> None:
    walker = Walker()
    config = engine_config(shallow_model, tmp_path / "state", redis_url=f"unix://{redis_server.socket}")
    async with serving(config, tmp_path, walker) as (http, engine):
        conversation = await created(http, params=CALM)
        with walker.record() as block:
            await said(http, conversation, QUESTION)
            await settled(engine)
    assert block.missing(stations("The walk of a block")) == []
