"""SIGKILL at random moments: no acknowledged message is lost, and Redis never holds a partly written block."""

import asyncio
import random
from pathlib import Path

import aiohttp

from app.cli.main import main
from bench.server import EbbServer, ServerSettings

KILLS = 50
CHATS = 3
FLAGS = ("--kv-memory", "128MiB", "--cpu-kv-memory", "256MiB", "--redis-memory", "512MiB")
PARAMS = {"temperature": 0, "max_tokens": 60, "ignore_eos": True}


async def test_fifty_kills_lose_no_question_and_leave_values_whole(model_path: Path, tmp_path: Path) -> None:
    del model_path  # Requested so that the model is downloaded before the server needs it.
    source = random.Random(9)
    asked: list[tuple[str, str]] = []
    async with EbbServer(ServerSettings("kills", FLAGS), tmp_path / "state") as server:
        for number in range(KILLS):
            async with aiohttp.ClientSession(server.client.base_url) as session:
                tasks = [asyncio.create_task(_talk(session, f"{number}.{at}", asked)) for at in range(CHATS)]
                # Not a synchronization: the kill may hit a prompt, a store, an answer or a pause between them.
                await asyncio.sleep(source.uniform(0.0, 1.5))
                await server.kill()
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
            await server.start()
        async with aiohttp.ClientSession(server.client.base_url) as session:
            for conversation, content in asked:
                async with session.get(f"/api/conversations/{conversation}") as response:
                    messages = (await response.json())["messages"]
                assert content in [message["content"] for message in messages]
        assert len(asked) > KILLS
        assert main(["cache", "verify", "--state-dir", str(tmp_path / "state")]) == 0


async def _talk(session: aiohttp.ClientSession, name: str, asked: list[tuple[str, str]]) -> None:
    """Send turn after turn until the server is gone. Add each question to `asked` once the server acknowledges it."""
    async with session.post("/api/conversations", json={}) as response:
        conversation = (await response.json())["id"]
    for turn in range(100):
        content = f"{name}, {turn}: tell me about rivers, lakes and the sea. " * 8
        route = f"/api/conversations/{conversation}/messages"
        async with session.post(route, json={"content": content, "params": PARAMS}) as response:
            assert response.status == 200
            asked.append((conversation, content))
            async for _ in response.content:
                pass
