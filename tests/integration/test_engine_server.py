"""The real engine behind the real server: many streams, a dying Redis, a thousand lost connections."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from engine.async_llm import AsyncLLMEngine
from engine.build import build_engine
from tests.integration.api_server import RunningServer, running_server
from tests.integration.engine_rig import MIB, engine_config
from tests.redis_server import RedisServer
from tests.sizes import Size
from tests.waiting import until

QUESTION = "Tell me about rivers, please. " * 6


@pytest.fixture
def redis_server(tmp_path: Path) -> RedisServer:
    folder = tmp_path / "redis"
    folder.mkdir()
    return RedisServer(folder)


@pytest.fixture
async def server(
    model_path: Path, tmp_path: Path, redis_server: RedisServer
) -> AsyncIterator[RunningServer[AsyncLLMEngine]]:
    config = engine_config(
        model_path,
        tmp_path / "state",
        blocks=200,
        cpu_memory=64 * MIB,
        redis_url=f"unix://{redis_server.socket}",
    )
    engine = await asyncio.to_thread(build_engine, config, print)
    async with running_server(tmp_path, engine) as running:
        yield running
    redis_server.kill()


def body(index: int, max_tokens: int, *, stream: bool = True) -> dict[str, object]:
    return {
        "model": "smollm2",
        "messages": [{"role": "user", "content": f"{index}. {QUESTION}"}],
        "max_tokens": max_tokens,
        "temperature": 0,
        "ignore_eos": True,
        "stream": stream,
    }


async def streamed_text(
    session: aiohttp.ClientSession, index: int, max_tokens: int, begun: asyncio.Event | None = None
) -> tuple[str, str]:
    """(all text, the finish reason) of one streamed answer that ended with [DONE]; `begun` is set at its first text."""
    text, reason, done = "", "", False
    async with session.post("/v1/chat/completions", json=body(index, max_tokens)) as response:
        assert response.status == 200
        async for line in response.content:
            data = line.decode().removeprefix("data: ").strip()
            if not line.startswith(b"data: "):
                continue
            if data == "[DONE]":
                done = True
                continue
            choice = json.loads(data)["choices"][0]
            text += choice["delta"].get("content") or ""
            if text and begun is not None:
                begun.set()
            reason = choice["finish_reason"] or reason
    assert done
    return text, reason


async def idle(engine: AsyncLLMEngine) -> None:
    """Wait until nothing is under way."""
    await asyncio.to_thread(until, lambda: engine.is_idle, timeout=60)


async def test_32_streams_at_once_end_complete(server: RunningServer[AsyncLLMEngine]) -> None:
    async with aiohttp.ClientSession(server.url) as session:
        answers = await asyncio.gather(*(streamed_text(session, index, 16) for index in range(32)))
        assert all(text and reason == "length" for text, reason in answers)
        async with session.post("/v1/chat/completions", json=body(7, 16, stream=False)) as response:
            whole = await response.json()
    assert whole["usage"]["prompt_tokens_details"]["cached_tokens"] > 0
    await idle(server.engine)
    server.engine.check()
    assert server.engine.stats().blocks_used == 0


async def test_killing_redis_under_load_costs_no_request(
    server: RunningServer[AsyncLLMEngine], redis_server: RedisServer
) -> None:
    async with aiohttp.ClientSession(server.url) as session:
        begun = asyncio.Event()
        under_way = [asyncio.create_task(streamed_text(session, index, 100, begun)) for index in range(6)]
        await asyncio.wait_for(begun.wait(), 60)
        redis_server.kill()
        assert not any(task.done() for task in under_way)
        later = [asyncio.create_task(streamed_text(session, index, 8)) for index in range(6, 12)]
        answers = await asyncio.gather(*under_way, *later)
    assert all(text and reason == "length" for text, reason in answers)
    await idle(server.engine)
    server.engine.check()


async def test_lost_connections_leave_the_pool_where_it_was(server: RunningServer[AsyncLLMEngine], size: Size) -> None:
    engine = server.engine
    total = size.pick(small=50, full=1000)

    async def connect_and_vanish(session: aiohttp.ClientSession, index: int) -> None:
        async with session.post("/v1/chat/completions", json=body(index, 400)) as response:
            assert response.status == 200
            # In every phase: before the first byte, after it, after a few events.
            for _ in range(index % 4):
                await response.content.readline()
            response.close()

    async with aiohttp.ClientSession(server.url) as session:
        for start in range(0, total, 25):
            batch = range(start, min(start + 25, total))
            await asyncio.gather(*(connect_and_vanish(session, index) for index in batch))
    await idle(engine)
    engine.check()
    stats = engine.stats()
    assert stats.blocks_used == 0
    assert stats.running == stats.waiting == stats.loading == 0
    assert stats.requests_finished["abort"] > 0


async def test_a_defect_in_the_engine_ends_every_request_with_an_error_and_is_told(
    server: RunningServer[AsyncLLMEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    def defect() -> None:
        raise RuntimeError("made by the test")

    async with aiohttp.ClientSession(server.url) as session:
        async with session.post("/v1/chat/completions", json=body(1, 2000)) as response:
            await response.content.readline()
            monkeypatch.setattr(server.engine._engine.core.scheduler, "schedule", defect)
            events = (await response.content.read()).decode()
        assert "the engine has failed and must be restarted" in events
        async with session.get("/ready") as response:
            assert response.status == 503
            assert (await response.json())["status"] == "failed"
        async with session.post("/v1/chat/completions", json=body(2, 8)) as response:
            assert response.status == 503
