"""A server that is moved to another machine: its folders are copied to other places, and its chats stay warm."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from bench.server import EbbServer, ServerSettings, settle
from engine.cpu.instruction_set import usable_instruction_sets
from tests.sizes import TOOL

pytestmark = TOOL
FLAGS = ("--redis-url", "off", "--kv-memory", "16MiB", "--cpu-kv-memory", "64MiB", "--disk-kv-size", "256MiB")
QUESTION = "Tell me about rivers, lakes and the sea. " * 40
PARAMS = {"temperature": 0, "max_tokens": 8, "ignore_eos": True}


@asynccontextmanager
async def serving(home: Path, *flags: str) -> AsyncIterator[tuple[EbbServer, aiohttp.ClientSession]]:
    """Serve the model, the chats, the secret and the blocks below `home`."""
    settings = ServerSettings("moved", (*FLAGS, "--model", str(home / "model"), *flags))
    async with EbbServer(settings, home / "state") as server, aiohttp.ClientSession(server.base_url) as session:
        yield server, session


async def ask(session: aiohttp.ClientSession, chat: str, content: str) -> dict[str, Any]:
    """Ask in a chat. Return the answer as it is stored."""
    body = {"content": content, "params": PARAMS}
    async with session.post(f"/api/conversations/{chat}/messages", json=body) as response:
        assert response.status == 200, await response.text()
        await response.read()
    async with session.get(f"/api/conversations/{chat}") as response:
        answer: dict[str, Any] = (await response.json())["messages"][-1]
        assert answer["finish_reason"] == "length"
        return answer


@pytest.mark.skipif(len(usable_instruction_sets()) < 2, reason="this processor has one kind of kernel")
async def test_moved_server_continues_its_chats_from_the_disk(shallow_model: Path, tmp_path: Path) -> None:
    old, new, other = tmp_path / "old", tmp_path / "new" / "place", tmp_path / "other machine"
    shutil.copytree(shallow_model, old / "model")
    async with serving(old) as (server, session):
        async with session.post("/api/conversations", json={}) as response:
            chat = (await response.json())["id"]
        first = await ask(session, chat, QUESTION)
        assert await settle(server, 20)
    for place in (new, other):
        shutil.copytree(old, place)
    shutil.rmtree(old)
    async with serving(new) as (server, session):
        second = await ask(session, chat, "And the mountains?")
        assert second["usage"]["kv"]["disk"] >= first["usage"]["prompt_tokens"] // 64 * 64 > 0
        assert "come from another version" not in server.log.read_text()
    # Kernels for other instructions round in another way, as those of another processor do.
    async with serving(other, "--cpu-kernels", usable_instruction_sets()[-1].name) as (server, session):
        third = await ask(session, chat, "And the mountains?")
        assert third["usage"]["kv"]["disk"] == 0
        assert "of the disk come from another version of Ebb, another model or another way" in server.log.read_text()
        async with session.get(f"/api/conversations/{chat}") as response:
            kept = [message["content"] for message in (await response.json())["messages"]]
        assert kept[:2] == [QUESTION, first["content"]]
