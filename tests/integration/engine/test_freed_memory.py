"""Ended requests are freed at once, without the garbage collector, which visits old objects rarely."""

import asyncio
import gc
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType

import pytest

from engine.loop.async_llm import AsyncLLMEngine
from engine.wiring.build import build_engine
from tests.integration.api_server import RunningServer, running_server
from tests.integration.engine_rig import engine_config

ROOT = Path(__file__).parents[3]
OURS = tuple(str(ROOT / name) for name in ("app", "engine", "cache_tiers", "models"))
PACKAGES = ("app.", "engine.", "cache_tiers.", "models.", "uvicorn.", "starlette.")
TIMES = 3
"""Most measurements. When a busy machine blocks the loop, the log of that looks at frames, which then live longer."""

Api = RunningServer[AsyncLLMEngine]
Ask = Callable[[Api], Awaitable[None]]


@pytest.fixture
async def api(shallow_model: Path, tmp_path: Path) -> AsyncIterator[Api]:
    config = engine_config(shallow_model, tmp_path / "state", redis_url="off")
    engine = await asyncio.to_thread(build_engine, config, lambda _: None)
    async with running_server(tmp_path, engine) as server:
        yield server


@contextmanager
def left_behind() -> Iterator[list[str]]:
    """Give the names of the server's objects in reference cycles that the block makes and drops, once it has ended."""
    gc.collect()
    gc.disable()
    found = list[str]()
    try:
        yield found
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        found += [name for each in gc.garbage if (name := name_of(each))]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
        gc.collect()


def name_of(each: object) -> str:
    """Return the name of an object of the server; "" for one of a test or of another library."""
    kind = type(each)
    for attribute in ("f_code", "cr_code", "ag_code", "gi_code", "__code__"):
        code = getattr(each, attribute, None)
        if isinstance(code, CodeType):
            return code.co_qualname if code.co_filename.startswith(OURS) else ""
    return kind.__qualname__ if f"{kind.__module__}.".startswith(PACKAGES) else ""


async def exchange(api: Api, path: str, body: object, *, until: bytes = b"", method: str = "POST") -> bytes:
    """Send one request on a separate connection. Return the response, or its beginning up to `until`."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(api.url.rpartition(":")[2]))
    content = json.dumps(body).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {len(content)}\r\n\r\n"
    try:
        writer.write(head.encode() + content)
        async with asyncio.timeout(60):
            return await (reader.readuntil(until) if until else reader.read())
    finally:
        writer.close()
        await writer.wait_closed()


async def turn(api: Api, until: bytes = b"") -> None:
    """Begin a chat and ask its first question."""
    response = await exchange(api, "/api/conversations", {})
    chat = json.loads(response.partition(b"\r\n\r\n")[2])["id"]
    question = {"content": "Hello", "params": {"max_tokens": 8, "ignore_eos": True}}
    response = await exchange(api, f"/api/conversations/{chat}/messages", question, until=until)
    assert b"event: " in response


async def turn_that_is_left(api: Api) -> None:
    await turn(api, until=b"event: ")


async def completion(api: Api) -> None:
    body = {"model": "smollm2", "max_tokens": 4, "messages": [{"role": "user", "content": "Hello"}]}
    assert b" 200 OK" in await exchange(api, "/v1/chat/completions", body)


async def stream(api: Api, until: bytes = b"") -> None:
    body = {"model": "smollm2", "max_tokens": 8, "messages": [{"role": "user", "content": "Hello"}], "stream": True}
    assert b"data: " in await exchange(api, "/v1/chat/completions", body, until=until)


async def stream_that_is_left(api: Api) -> None:
    await stream(api, until=b"data: ")


async def refusal(api: Api) -> None:
    assert b" 400 " in await exchange(api, "/v1/chat/completions", [])
    assert b" 404 " in await exchange(api, "/api/conversations/conv_0", {}, method="GET")


async def until_nothing_is_open(api: Api) -> None:
    """Wait for the ends of the requests whose clients have left, and drop the runs that are kept for late followers."""
    async with asyncio.timeout(60):
        while len(api.connections) or api.engine.stats().requests.running or api.services.records.runs.live:  # noqa: ASYNC110
            await asyncio.sleep(0.002)
    await api.services.records.runs.forget_all_of("local")


async def test_ended_requests_leave_nothing_to_the_garbage_collector(api: Api) -> None:
    for ask in (turn, turn_that_is_left, completion, stream, stream_that_is_left, refusal):
        await ask(api)
        await until_nothing_is_open(api)
        for _ in range(TIMES):
            with left_behind() as found:
                for _ in range(3):
                    await ask(api)
                await until_nothing_is_open(api)
            if not found:
                break
        assert (ask.__name__, found) == (ask.__name__, [])
