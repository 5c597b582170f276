"""Clients that leave before their response begins: status 499 in log and metrics, at each stage of each route."""

import asyncio
import json
import logging
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from app.prompts import tokenization
from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import RunningServer, api_client
from tests.integration.conversations_client import created

Api = RunningServer[ReplayEngine]
Body = dict[str, Any]

MODEL: Body = {"model": "fake-1"}
HI: Body = {**MODEL, "messages": [{"role": "user", "content": "hi"}]}
WHOLE: dict[str, tuple[str, Body]] = {
    "completion": ("/v1/completions", {**MODEL, "prompt": "hi"}),
    "two completions": ("/v1/completions", {**MODEL, "prompt": "hi", "n": 2}),
    "chat": ("/v1/chat/completions", HI),
    "message": ("/v1/messages", {**HI, "max_tokens": 9}),
    "response": ("/v1/responses", {**MODEL, "input": "hi"}),
    "unstored response": ("/v1/responses", {**MODEL, "input": "hi", "store": False}),
    "Ollama chat": ("/api/chat", {**HI, "stream": False}),
    "Ollama completion": ("/api/generate", {**MODEL, "prompt": "hi", "stream": False}),
}
STREAMED = {name: (path, {**body, "stream": True}) for name, (path, body) in WHOLE.items()}
COUNTED: dict[str, tuple[str, Body]] = {
    "tokens": ("/tokenize", HI),
    "message tokens": ("/v1/messages/count_tokens", HI),
    "input tokens": ("/v1/responses/input_tokens", {"input": "hi"}),
}
OTHER: dict[str, tuple[str, Body]] = {
    "conversation": ("/v1/conversations", {}),
    "page": ("/api/conversations", {}),
    "import": ("/api/import", {}),
    "login": ("/api/login", {"key": "x"}),
}


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.DEBUG, logger="ebb.requests")
    return caplog


@asynccontextmanager
async def sent(api: Api, path: str, body: Body, *, withheld: int = 0) -> AsyncIterator[asyncio.StreamReader]:
    """Send a request without its last `withheld` bytes, and close the connection at the end of the block."""
    data = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(data)}\r\n\r\n".encode()
    reader, writer = await asyncio.open_connection("127.0.0.1", int(api.url.rpartition(":")[2]))
    try:
        writer.write((head + data)[: -withheld or None])
        await writer.drain()
        yield reader
    finally:
        writer.close()


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(20):
        # The server signals neither the end of a connection nor a log line.
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.001)


def statuses(caplog: pytest.LogCaptureFixture) -> list[int]:
    """Return the logged statuses of the POST requests."""
    facts = [vars(record)["facts"] for record in caplog.records if record.getMessage() == "request"]
    return [each["status"] for each in facts if each["method"] == "POST"]


async def counted(api: Api) -> list[str]:
    """Return the statuses of POST requests in the metrics."""
    async with aiohttp.ClientSession(api.url) as http, http.get("/metrics") as response:
        rows = (await response.text()).splitlines()
    return [row.partition('status="')[2] for row in rows if row.startswith('ebb_http_responses_total{method="POST"')]


async def check_left(api: Api, lines: pytest.LogCaptureFixture) -> None:
    await until(lambda: statuses(lines))
    assert statuses(lines) == [499]
    assert await counted(api) == ['499"} 1.0']
    assert [record.getMessage() for record in lines.records if record.levelno >= logging.ERROR] == []


@pytest.mark.parametrize("name", [*WHOLE, *COUNTED, *OTHER])
async def test_client_that_leaves_within_its_body_is_a_499(
    api: Api, lines: pytest.LogCaptureFixture, name: str
) -> None:
    path, body = {**WHOLE, **COUNTED, **OTHER}[name]
    async with sent(api, path, body, withheld=1):
        pass
    await check_left(api, lines)


@pytest.mark.parametrize("steps", [0, 2])
@pytest.mark.parametrize("name", WHOLE)
async def test_client_that_leaves_while_waiting_is_a_499(
    api: Api, lines: pytest.LogCaptureFixture, name: str, steps: int
) -> None:
    path, body = WHOLE[name]
    api.engine.hold()
    async with sent(api, path, body):
        await api.engine.until_running(body.get("n", 1))
        api.engine.allow(steps)
        await api.engine.until_produced(api.engine.requests[0], steps)
    await api.engine.until_running(0)
    await check_left(api, lines)


@asynccontextmanager
async def tokenizer_held(api: Api, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[threading.Event]:
    """Tokenize prompts only after the block. Sets the event when a prompt waits."""
    waits, released = threading.Event(), threading.Event()

    def held(work: Callable[..., Any]) -> Callable[..., Any]:
        def wait(*args: Any, **kwargs: Any) -> Any:
            waits.set()
            assert released.wait(20)
            return work(*args, **kwargs)

        return wait

    monkeypatch.setattr(tokenization, "LONG_TEXT", 0)
    for owner, name in ((api.engine.tokenizer, "encode_prompt"), (api.engine.chat_format, "render")):
        monkeypatch.setattr(owner, name, held(getattr(owner, name)))
    try:
        yield waits
    finally:
        released.set()


@pytest.mark.parametrize("name", [*WHOLE, *(f"streamed {name}" for name in STREAMED), *COUNTED])
async def test_client_that_leaves_while_tokenizing_is_a_499(
    api: Api, lines: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    streamed = {f"streamed {name}": asked for name, asked in STREAMED.items()}
    path, body = {**WHOLE, **streamed, **COUNTED}[name]
    async with tokenizer_held(api, monkeypatch) as waits:
        async with sent(api, path, body):
            assert await asyncio.to_thread(waits.wait, 20)
        await until(lambda: not len(api.connections))
    await check_left(api, lines)
    await api.engine.until_running(0)


async def test_turn_of_a_client_that_leaves_is_a_499_and_is_kept(
    api: Api, lines: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with api_client(api.url) as http:
        conversation_id = await created(http)
        lines.clear()
        async with tokenizer_held(api, monkeypatch) as waits:
            async with sent(api, f"/api/conversations/{conversation_id}/messages", {"content": "hi"}):
                assert await asyncio.to_thread(waits.wait, 20)
            # The client that created the conversation keeps its connection.
            await until(lambda: len(api.connections) == 1)
        await until(lambda: statuses(lines))
        assert statuses(lines) == [499]
        await api.services.records.runs.join()
        shown = await (await http.get(f"/api/conversations/{conversation_id}")).json()
        assert [message["role"] for message in shown["messages"]] == ["user", "assistant"]


@pytest.mark.parametrize("name", STREAMED)
async def test_client_that_leaves_its_stream_ends_the_request(
    api: Api, lines: pytest.LogCaptureFixture, name: str
) -> None:
    path, body = STREAMED[name]
    api.engine.hold()
    async with sent(api, path, body) as reader:
        await api.engine.until_running(body.get("n", 1))
        api.engine.allow(2)
        await reader.readuntil(b"\r\n\r\n")
    await api.engine.until_running(0)
    await until(lambda: statuses(lines))
    assert statuses(lines) == [200]
    assert [record.getMessage() for record in lines.records if record.levelno >= logging.ERROR] == []
