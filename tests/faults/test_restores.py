"""Restores after SIGKILL, from the medium itself: the answer in a long chat equals the computed one."""

from pathlib import Path
from typing import Any

import aiohttp
import pytest

from bench.server import EbbServer, ServerSettings, settle
from tests.integration.conversations_client import created, said
from tests.redis_server import RedisServer

pytest_plugins = ["tests.store_fixtures"]

TEXT = "Tell me about rivers, lakes and the sea, as a geographer would. " * 60
LATER = "And what of the mountains?"
PARAMS = {"temperature": 0, "max_tokens": 64, "ignore_eos": True}
FLAGS = ("--kv-memory", "256MiB", "--cpu-kv-memory", "256MiB")
OFF = ("--no-prefix-cache", "--redis-url", "off", "--disk-kv-size", "0")


async def said_to(server: EbbServer, chat: str | None, content: str) -> tuple[str, dict[str, Any]]:
    """Ask a question in a chat, a new one if there is none. Return the chat and the answer."""
    async with aiohttp.ClientSession(server.client.base_url) as http:
        chat = chat or await created(http, params=PARAMS)
        return chat, await said(http, chat, content)


@pytest.mark.parametrize("tier", ["disk", "redis"])
async def test_restored_answer_equals_the_computed_one(
    model_path: Path, tmp_path: Path, redis_server: RedisServer, tier: str
) -> None:
    del model_path  # Requested so that the model is downloaded before the server needs it.
    below = {
        "disk": ("--redis-url", "off", "--disk-kv-size", "1GiB"),
        "redis": ("--redis-url", f"unix://{redis_server.socket}", "--disk-kv-size", "0"),
    }
    async with EbbServer(ServerSettings(tier, (*FLAGS, *below[tier])), tmp_path / tier) as server:
        chat, first = await said_to(server, None, TEXT)
        assert await settle(server, 30)
        await server.kill()
        server.drop_cached_kv()
        await server.start()
        _, restored = await said_to(server, chat, LATER)
    async with EbbServer(ServerSettings("computed", (*FLAGS[:2], *OFF)), tmp_path / "computed") as server:
        chat, again = await said_to(server, None, TEXT)
        _, computed = await said_to(server, chat, LATER)
    assert restored["usage"]["kv"][tier] > 600
    assert restored["usage"]["kv"]["cpu"] == restored["usage"]["kv"]["device"] == 0
    assert (first["content"], restored["content"]) == (again["content"], computed["content"])
    assert computed["usage"]["kv"]["computed"] == computed["usage"]["prompt_tokens"]
