"""Recovery of conversations and answers after kill -9 of the server."""

import asyncio
import json
from pathlib import Path
from typing import Any

import aiohttp

from bench.server import EbbServer, ServerSettings, settle
from tests.forked_server import ForkedServer
from tests.integration.engine_rig import BLOCK
from tests.run_reader import RunReader
from tests.sizes import Size

FLAGS = ("--kv-memory", "128MiB", "--cpu-kv-memory", "256MiB", "--redis-memory", "512MiB", "--disk-kv-size", "512MiB")
PARAMS = {"temperature": 0, "max_tokens": 40, "ignore_eos": True}
SAMPLED = {"temperature": 0.8, "seed": 5, "ignore_eos": True}


async def ask(server: EbbServer, conversation: str, content: str) -> dict[str, Any]:
    """Send a message and return the finished answer."""
    route, body = f"/api/conversations/{conversation}/messages", {"content": content, "params": PARAMS}
    async with session_of(server) as session, session.post(route, json=body) as response:
        assert response.status == 200, await response.text()
        event, message = "", None
        async for raw in response.content:
            line = raw.decode().rstrip("\n")
            if line.startswith("event: "):
                event = line.removeprefix("event: ")
            elif line.startswith("data: ") and event == "done":
                message = json.loads(line.removeprefix("data: "))["message"]
    assert message is not None
    assert isinstance(message, dict)
    return message


def settings(name: str, model: Path) -> ServerSettings:
    return ServerSettings(name, (*FLAGS, "--model", str(model)))


def session_of(server: EbbServer) -> aiohttp.ClientSession:
    """Open a client session of the server. Request paths are relative to the server's root."""
    return aiohttp.ClientSession(server.client.base_url)


async def test_chats_and_cut_answers_continue_after_kill_9(shallow_model: Path, tmp_path: Path, size: Size) -> None:
    turns = size.pick(small=3, full=10)
    tokens, parts = size.pick(small=(160, (0.2,)), full=(400, (0.2, 0.6)))
    body = {"content": "A long story, please.", "params": SAMPLED | {"max_tokens": tokens}}
    # Starts take most of the time, so one server has both: a conversation at rest, and an answer that the kills cut.
    async with ForkedServer(settings("restart", shallow_model), tmp_path / "state") as server:
        conversation = await new_conversation(server)
        for turn in range(turns):
            content = f"Turn {turn}: tell me more about rivers, lakes and the sea, as a geographer would."
            before = await ask(server, conversation, content)
        whole = RunReader(lambda: server.base_url)
        await whole.ask(await new_conversation(server), body)
        assert await settle(server, 20)
        # On a busy machine, a kill may come after the end of the answer. The next answer is then cut.
        for _ in range(5):
            cut, story = RunReader(lambda: server.base_url), await new_conversation(server)
            reading = asyncio.create_task(cut.ask(story, body))
            for part in parts:
                await cut.until(int(part * len(whole.text)))
                await server.restart_after_kill()
            async with asyncio.timeout(60):
                await reading
            if cut.resumed >= len(parts):
                break
        kept, (_, answer) = await messages_of(server, conversation), await messages_of(server, story)
        after = await ask(server, conversation, "And what did we speak about?")
    assert len(kept) == 2 * turns
    assert kept[-1]["content"] == before["content"]
    old = before["usage"]["prompt_tokens"] + before["usage"]["completion_tokens"] - 1
    kv = after["usage"]["kv"]
    assert kv["disk"] == old // BLOCK * BLOCK
    assert kv["computed"] == after["usage"]["prompt_tokens"] - kv["disk"]
    assert after["usage"]["prompt_tokens_details"]["cached_tokens"] == kv["disk"]

    assert cut.resumed >= len(parts)
    assert cut.text == whole.text == answer["content"]
    assert (answer["status"], answer["finish_reason"]) == ("incomplete", "length")
    assert answer["usage"]["completion_tokens"] == tokens


async def messages_of(server: EbbServer, conversation: str) -> list[dict[str, Any]]:
    """Return the stored messages of a conversation."""
    async with session_of(server) as session, session.get(f"/api/conversations/{conversation}") as response:
        return list((await response.json())["messages"])


async def new_conversation(server: EbbServer) -> str:
    async with session_of(server) as session, session.post("/api/conversations", json={}) as response:
        return str((await response.json())["id"])
