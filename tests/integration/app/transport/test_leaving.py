"""Clients that half-close, close or stop reading their connection: responses, aborts and log."""

import asyncio
import json
import logging
import socket
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from app.transport import protocol
from app.transport.direct_writer import DirectWriter
from app.transport.event_stream import EventStream
from tests.integration.api_server import RunningServer, running_server
from tests.unit.fake_engine import FakeEngine

Api = RunningServer[FakeEngine]
Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Api]:
    async with running_server(tmp_path, FakeEngine()) as api:
        yield api


@asynccontextmanager
async def connected(api: Api) -> AsyncIterator[Connection]:
    small = socket.socket()
    small.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 12)
    small.connect(("127.0.0.1", int(api.url.rpartition(":")[2])))
    reader, writer = await asyncio.open_connection(sock=small, limit=1 << 10)
    try:
        async with asyncio.timeout(20):
            yield reader, writer
    finally:
        writer.close()


def completion(**fields: object) -> bytes:
    body = json.dumps({"model": "fake-1", "prompt": "x", **fields}).encode()
    return b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


def errors(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]


@pytest.mark.parametrize("stream", [False, True])
async def test_half_closed_client_gets_its_answer(api: Api, stream: bool) -> None:
    api.engine.hold()
    async with connected(api) as (reader, writer):
        writer.write(completion(stream=stream))
        await api.engine.until_running(1)
        api.engine.allow(3)
        writer.write_eof()
        api.engine.allow(100)
        answer = await reader.read()
    assert b"HTTP/1.1 200 OK" in answer
    assert b"w11" in answer


@pytest.mark.parametrize("stream", [False, True])
async def test_client_close_aborts_request_at_once(api: Api, stream: bool) -> None:
    api.engine.hold()
    async with connected(api) as (_, writer):
        writer.write(completion(stream=stream))
        await api.engine.until_running(1)
        api.engine.allow(2)
    await api.engine.until_running(0)


async def test_close_with_pipelined_requests_logs_no_error(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    api.engine.hold()
    async with connected(api) as (_, writer):
        writer.write(completion(stream=True) + completion() + completion())
        await api.engine.until_running(1)
        api.engine.allow(2)
    await api.engine.until_running(0)
    assert errors(caplog) == []


async def test_client_that_never_reads_is_cut_without_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "WRITE_SECONDS", 0.05)
    cut = asyncio.Event()

    async def endless(_request: Request) -> Response:
        async def frames(_writer: DirectWriter | None) -> AsyncGenerator[bytes, None]:
            while True:
                yield bytes(1 << 16)
                await asyncio.sleep(0)

        return EventStream(frames, headers={}, on_close=cut.set)

    routes = [Route("/endless", endless)]
    async with running_server(tmp_path, FakeEngine(), routes=routes) as api, connected(api) as (_, writer):
        writer.write(b"GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await cut.wait()
    assert errors(caplog) == []
