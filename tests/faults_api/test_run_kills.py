"""SIGKILL of the server at random tokens of its answers: every stream resumes and ends with the same text."""

import asyncio
import random
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from bench.server import EbbServer, ServerSettings
from tests.run_reader import RunReader

KILLS = 100
FLAGS = (
    "--kv-memory",
    "256MiB",
    "--cpu-kv-memory",
    "256MiB",
    "--redis-memory",
    "512MiB",
    "--chat-titles",
    "first-words",
)
MAX_CHARACTERS = 500
"""Most characters of one answer that are read between two kills."""


def body(number: int) -> dict[str, Any]:
    """Build a question whose answer is long, sampled, and the same each time."""
    params = {"temperature": 0.8, "seed": number, "max_tokens": 400, "ignore_eos": True}
    return {"content": f"Tell me story number {number}, about rivers, lakes and the sea.", "params": params}


async def new_conversation(server: EbbServer) -> str:
    assert server.base_url is not None
    async with aiohttp.ClientSession(server.base_url) as session, session.post("/api/conversations", json={}) as made:
        return str((await made.json())["id"])


async def read_all(server: EbbServer, readers: list[RunReader]) -> list[str]:
    """Let each reader ask its question in a new conversation and read the answer. Return the conversations' ids."""
    conversations = [await new_conversation(server) for _ in readers]
    asked = enumerate(zip(readers, conversations, strict=True))
    await asyncio.gather(*(reader.ask(where, body(number)) for number, (reader, where) in asked))
    return conversations


async def kill_until_read(server: EbbServer, readers: list[RunReader], left: int, source: random.Random) -> int:
    """Kill and restart the server until all answers are read, at most `left` times. Return the number of kills."""
    kills = 0
    while kills < left and (unread := [reader for reader in readers if reader.last is None]):
        reader = source.choice(unread)
        await reader.until(len(reader.text) + source.randrange(1, MAX_CHARACTERS))
        if any(each.last is None for each in readers):
            await server.restart_after_kill()
            kills += 1
    return kills


@pytest.mark.parametrize("streams", [1, 8])
async def test_killed_streams_resume_to_text_of_uninterrupted_run(
    streams: int, model_path: Path, tmp_path: Path
) -> None:
    del model_path  # Requested so that the model is downloaded before the server needs it.
    source, kills, answers, resumed = random.Random(streams), 0, 0, 0
    async with EbbServer(ServerSettings("kills", FLAGS), tmp_path / "state") as server:
        whole = [RunReader(lambda: server.base_url) for _ in range(streams)]
        await read_all(server, whole)
        while kills < KILLS:
            readers = [RunReader(lambda: server.base_url) for _ in range(streams)]
            reading = asyncio.create_task(read_all(server, readers))
            kills += await kill_until_read(server, readers, KILLS - kills, source)
            conversations = await reading
            assert [reader.text for reader in readers] == [reader.text for reader in whole]
            for number, conversation in enumerate(conversations):
                assert await stored(server, conversation) == [body(number)["content"], whole[number].text]
            answers, resumed = answers + streams, resumed + sum(reader.resumed for reader in readers)
    print(f"\n{streams} streams: {kills} kills, {answers} answers, {resumed} reconnections, 0 texts differ")


async def stored(server: EbbServer, conversation: str) -> list[str]:
    """Return the contents of the conversation's messages."""
    assert server.base_url is not None
    route = f"/api/conversations/{conversation}"
    async with aiohttp.ClientSession(server.base_url) as session, session.get(route) as response:
        return [message["content"] for message in (await response.json())["messages"]]
