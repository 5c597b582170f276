"""Clients that half-close, close or stop reading their connection: responses, aborts and log."""

import asyncio
import json
import logging
import socket
import ssl
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from app.transport import protocol
from app.transport.connections import Connections
from app.transport.direct_writer import DirectWriter
from app.transport.event_stream import EventStream
from app.transport.frames import EVENTS
from app.transport.tls import CertificateFiles, TlsContext
from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import ROOMY, RunningServer, running_server, served
from tests.tls_files import make_tls_files

Api = RunningServer[ReplayEngine]
Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Api]:
    async with running_server(tmp_path, ReplayEngine()) as api:
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


async def test_client_that_leaves_after_half_closing_is_noticed(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "PROBE_SECONDS", 0.01)
    api.engine.hold()
    async with connected(api) as (reader, writer):
        writer.write(completion())
        await api.engine.until_running(1)
        writer.write_eof()
        # Whatever arrived was read, so that closing the connection by itself resets nothing.
        assert await reader.readuntil(b"\r\n\r\n") == protocol.CONTINUE
    await api.engine.until_running(0)


async def test_half_closed_client_of_http_1_0_gets_a_quick_answer(api: Api) -> None:
    async with connected(api) as (reader, writer):
        writer.write(completion().replace(b"HTTP/1.1", b"HTTP/1.0"))
        writer.write_eof()
        answer = await reader.read()
    assert answer.startswith(b"HTTP/1.1 200 OK")
    assert b"w11" in answer


async def test_half_closed_client_of_http_1_0_counts_as_gone(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "PROBE_SECONDS", 0.01)
    api.engine.hold()
    async with connected(api) as (reader, writer):
        writer.write(completion().replace(b"HTTP/1.1", b"HTTP/1.0"))
        await api.engine.until_running(1)
        writer.write_eof()
        await api.engine.until_running(0)
        with suppress(ConnectionResetError):
            assert await reader.read() == b""


async def test_half_closed_stream_continues_between_probes(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "PROBE_SECONDS", 0.01)
    monkeypatch.setattr(protocol, "RESET_POLL_SECONDS", 0.01)
    defaults = EventStream.__init__.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "ping_seconds", 1000.0)
    api.engine.hold()
    async with connected(api) as (reader, writer):
        writer.write(completion(stream=True))
        await api.engine.until_running(1)
        writer.write_eof()
        for _ in range(3):
            await reader.readuntil(EVENTS.filler)
        api.engine.allow(None)
        answer = await reader.read()
    assert b"w11" in answer
    assert answer.endswith(b"0\r\n\r\n")


@pytest.mark.parametrize("stream", [False, True])
async def test_end_of_tls_ends_the_request(tmp_path: Path, stream: bool) -> None:
    files = make_tls_files(tmp_path)
    tls = TlsContext(CertificateFiles(files.certificate, files.key))
    async with running_server(tmp_path, ReplayEngine(), tls=tls) as api:
        api.engine.hold()
        port, trust = int(api.url.rpartition(":")[2]), ssl.create_default_context(cafile=files.authority)
        _, writer = await asyncio.open_connection("localhost", port, ssl=trust)
        assert not writer.can_write_eof()
        writer.write(completion(stream=stream))
        await api.engine.until_running(1)
        writer.close()
        await api.engine.until_running(0)


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


async def test_close_before_response_without_body_logs_no_error(caplog: pytest.LogCaptureFixture) -> None:
    """Close the connection before the one write of a response, which the client's system then answers with a reset."""
    client, connections = socket.socket(), Connections(ROOMY)

    async def leave_first(scope: Scope, receive: Receive, send: Send) -> None:
        client.close()
        await Response(status_code=204)(scope, receive, send)

    async with served(leave_first, connections) as url, asyncio.timeout(20):
        client.connect(("127.0.0.1", int(url.rpartition(":")[2])))
        client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        # The connections of a server have no event.
        while client.fileno() >= 0 or len(connections):  # noqa: ASYNC110
            await asyncio.sleep(0.001)
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
    async with running_server(tmp_path, ReplayEngine(), routes=routes) as api, connected(api) as (_, writer):
        writer.write(b"GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await cut.wait()
    assert errors(caplog) == []
