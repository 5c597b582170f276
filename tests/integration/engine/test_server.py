"""The real engine behind the real server: many streams, a dying Redis, lost connections and defects."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from app.apis.anthropic.serializer import MessageShape
from app.apis.openai.serializer import ChatShape
from engine.api.outputs import RequestOutput
from engine.loop.async_llm import AsyncLLMEngine
from engine.scheduling.scheduler import Scheduler
from engine.wiring.build import build_engine
from tests.integration.api_server import RunningServer, running_server
from tests.integration.engine_rig import MIB, engine_config
from tests.leaks import assert_no_leaks
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
    shallow_model: Path, tmp_path: Path, redis_server: RedisServer
) -> AsyncIterator[RunningServer[AsyncLLMEngine]]:
    config = engine_config(
        shallow_model,
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
    """Stream one answer, which must end with [DONE], and return its text and its finish reason.

    begun: set at the first text.
    """
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
    """Wait until the engine is idle."""
    await asyncio.to_thread(until, lambda: engine.is_idle, timeout=60)


async def test_32_concurrent_streams_end_complete(server: RunningServer[AsyncLLMEngine]) -> None:
    async with aiohttp.ClientSession(server.url) as session:
        answers = await asyncio.gather(*(streamed_text(session, index, 16) for index in range(32)))
        assert all(text and reason == "length" for text, reason in answers)
        async with session.post("/v1/chat/completions", json=body(7, 16, stream=False)) as response:
            whole = await response.json()
    assert whole["usage"]["prompt_tokens_details"]["cached_tokens"] > 0
    await idle(server.engine)
    assert_no_leaks(server.engine._engine)
    assert server.engine.stats().blocks.used == 0


async def test_killing_redis_under_load_fails_no_request(
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
    assert_no_leaks(server.engine._engine)


async def test_lost_connections_free_every_block(server: RunningServer[AsyncLLMEngine], size: Size) -> None:
    engine = server.engine
    total = size.pick(small=50, full=1000)

    async def connect_and_vanish(session: aiohttp.ClientSession, index: int) -> None:
        async with session.post("/v1/chat/completions", json=body(index, 400)) as response:
            assert response.status == 200
            # Disconnect in every phase: before the first byte, after it and after a few events.
            for _ in range(index % 4):
                await response.content.readline()
            response.close()

    async with aiohttp.ClientSession(server.url) as session:
        for start in range(0, total, 25):
            batch = range(start, min(start + 25, total))
            await asyncio.gather(*(connect_and_vanish(session, index) for index in batch))
    await idle(engine)
    assert_no_leaks(engine._engine)
    stats = engine.stats()
    assert stats.blocks.used == 0
    assert stats.requests.running == stats.requests.waiting == stats.requests.loading == 0
    assert stats.requests.finished["abort"] > 0


class Panic(BaseException):
    """Panic in native code, which is not an Exception."""


STREAMS = [("/v1/chat/completions", ChatShape), ("/v1/messages", MessageShape)]


@pytest.mark.parametrize("bad_step", [0, 3])
@pytest.mark.parametrize(("path", "shape"), STREAMS, ids=["openai", "anthropic"])
async def test_defect_in_one_stream_leaves_the_others_intact(
    server: RunningServer[AsyncLLMEngine],
    monkeypatch: pytest.MonkeyPatch,
    path: str,
    shape: type[ChatShape | MessageShape],
    bad_step: int,
) -> None:
    """Fail one stream at `bad_step`: the stream's task reads the first step, and later ones are written directly."""
    intact, shapes, steps = shape.step, list[object](), list[str]()

    def step(self: Any, output: RequestOutput) -> bytes:
        if self not in shapes:
            shapes.append(self)
        # For chat completions the first shape belongs to the other stream.
        if shapes.index(self) == (shape is ChatShape) and output.text:
            steps.append(output.text)
            if len(steps) > bad_step:
                raise UnicodeEncodeError("utf-8", "\ud83d", 0, 1, "a surrogate")
        return intact(self, output)

    monkeypatch.setattr(shape, "step", step)
    async with aiohttp.ClientSession(server.url) as session:
        begun = asyncio.Event()
        other = asyncio.create_task(streamed_text(session, 1, 80, begun))
        await asyncio.wait_for(begun.wait(), 60)
        fields = body(2, 40)
        del fields["ignore_eos"]
        async with session.post(path, json=fields) as response:
            assert response.status == 200
            events = (await response.content.read()).decode()
        text, reason = await other
    assert "error" in events.split("data: ")[-1]
    assert reason == "length"
    assert text
    assert not server.engine.is_broken
    await idle(server.engine)
    assert_no_leaks(server.engine._engine)


@pytest.mark.parametrize("before", ["", "[a-z ,]{9,12}\\."], ids=["forced", "free"])
async def test_half_a_surrogate_pair_ends_the_tool_call(server: RunningServer[AsyncLLMEngine], before: str) -> None:
    call = r'<tool_call>\n\{"name": "t", "arguments": \{"p": "\\ud83d"\}\}\n</tool_call>'
    fields = body(1, 120) | {
        "structured_outputs": {"regex": before + call},
        "tools": [{"type": "function", "function": {"name": "t", "parameters": {"type": "object"}}}],
    }
    del fields["ignore_eos"]
    async with aiohttp.ClientSession(server.url) as session:
        async with session.post("/v1/chat/completions", json=fields) as response:
            events = (await response.content.read()).decode()
        async with session.post("/v1/chat/completions", json=body(2, 4, stream=False)) as response:
            assert response.status == 200
    assert "[DONE]" in events
    chunks = [json.loads(line[6:]) for line in events.splitlines() if line.startswith("data: {")]
    deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
    calls = [call["function"] for delta in deltas for call in delta.get("tool_calls", ())]
    assert "".join(call["arguments"] for call in calls) == '{"p": "'
    assert "".join(delta.get("content", "") for delta in deltas).rstrip().endswith(r'\ud83d"}}')


async def test_streams_survive_defect_in_scheduler(
    server: RunningServer[AsyncLLMEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with aiohttp.ClientSession(server.url) as session:
        undisturbed = [await streamed_text(session, index, 60) for index in (1, 2)]
        begun = asyncio.Event()
        under_way = [asyncio.create_task(streamed_text(session, index, 60, begun)) for index in (1, 2)]
        await asyncio.wait_for(begun.wait(), 60)
        scheduler = server.engine._engine.core.scheduler
        update, calls = scheduler.update, list[None]()

        def defect(*args: Any) -> Any:
            updates = update(*args)
            calls.append(None)
            if len(calls) == 3:
                raise Panic("made by the test")
            return updates

        monkeypatch.setattr(scheduler, "update", defect)
        assert await asyncio.gather(*under_way) == undisturbed
    assert server.engine.stats().steps.rebuilds == 1
    assert server.engine._engine.core.scheduler is not scheduler
    await idle(server.engine)
    assert_no_leaks(server.engine._engine)


async def test_streams_end_with_restart_if_the_engine_gives_up(
    server: RunningServer[AsyncLLMEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    def defect(_: Scheduler, *, ahead: bool) -> None:
        raise Panic("made by the test")

    async with aiohttp.ClientSession(server.url) as session:
        async with session.post("/v1/chat/completions", json=body(1, 2000)) as response:
            await response.content.readline()
            # Every scheduler that replaces the first one has the defect too.
            monkeypatch.setattr(Scheduler, "schedule", defect)
            events = (await response.content.read()).decode()
        await asyncio.wait_for(server.engine.gave_up.wait(), 60)
        assert "server_restart" in events
        assert "made by the test" in server.engine.why_gave_up
        async with session.get("/ready") as response:
            assert response.status == 503
            assert (await response.json())["status"] == "failed"
        async with session.post("/v1/chat/completions", json=body(2, 8)) as response:
            assert response.status == 503
