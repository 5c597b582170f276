"""Limits on the cost of one connection, tested over a real socket by misbehaving clients."""

import asyncio
import gzip
import json
import select
import socket
import ssl
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from app.domain.bounds import MAX_BODY_BYTES, MAX_HEADER_BYTES, MAX_HEADERS, MAX_PIPELINED, MAX_URL_BYTES
from app.http import request_body
from app.transport import protocol
from app.transport.tls import CertificateFiles, TlsContext
from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import RunningServer, running_server
from tests.tls_files import make_tls_files

Api = RunningServer[ReplayEngine]
HEAD = b"Host: localhost\r\n"


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def error(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)["error"]
        return found


class Client:
    """Raw connection to the server. Each read times out after 20 s."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def answer(self) -> Answer:
        async with asyncio.timeout(20):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
            body = await self.reader.readexactly(int(headers.get("content-length", "0")))
        return Answer(int(head[0].split()[1]), headers, body)

    async def closed(self) -> bytes:
        """Read until the server closes the connection, and return the bytes."""
        async with asyncio.timeout(20):
            try:
                return await self.reader.read()
            except ConnectionResetError:
                return b""


@asynccontextmanager
async def connected(api: Api) -> AsyncIterator[Client]:
    reader, writer = await asyncio.open_connection("127.0.0.1", int(api.url.rpartition(":")[2]))
    try:
        yield Client(reader, writer)
    finally:
        writer.close()


@pytest.fixture
async def client(api: Api) -> AsyncIterator[Client]:
    async with connected(api) as client:
        yield client


@pytest.fixture
def short_deadlines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deadlines of 0.2 s. The fixture must run before the server is created.

    The server discards unread bodies for its usual time. Otherwise it would cut off a late body once more, perhaps
    before a busy machine has sent the response to it.
    """
    for name in ("HEAD_SECONDS", "LINGER_SECONDS", "WRITE_SECONDS", "DRAIN_SECONDS"):
        monkeypatch.setattr(protocol, name, 0.2)
    monkeypatch.setattr(request_body, "BODY_SECONDS", 0.2)


async def trickle(client: Client, piece: bytes) -> None:
    """Send `piece` every 10 ms, also after the response, so that no pause reaches a deadline."""
    while not client.writer.is_closing():
        client.send(piece)
        await asyncio.sleep(0.01)


@asynccontextmanager
async def trickling(client: Client, piece: bytes) -> AsyncIterator[None]:
    task = asyncio.create_task(trickle(client, piece))
    try:
        yield
    finally:
        task.cancel()


def is_from_ebb(answer: Answer) -> bool:
    """Return whether the response has the headers of every response of the application."""
    return answer.headers["x-request-id"].startswith("req_") and answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("begin", [b"GET /", b"GET / HTTP/1.1\r\n", b"GET / HTTP/1.1\r\nHost: localhost\r\nX-"])
async def test_trickling_head_is_cut_off_with_408(short_deadlines: None, begin: bytes, client: Client) -> None:
    client.send(begin)
    async with trickling(client, b"1"):
        answer = await client.answer()
        await client.closed()
    assert (answer.status, answer.error["code"]) == (408, "request_too_slow")
    assert answer.headers["connection"] == "close"
    assert is_from_ebb(answer)


def send_before_reading(host: str, port: int, trust: ssl.SSLContext | None = None) -> bytes:
    """Wait for the response to a request that is never complete, send more of that, and only then read."""
    with ExitStack() as stack:
        connection = stack.enter_context(socket.create_connection((host, port), 20))
        if trust is not None:
            connection = stack.enter_context(trust.wrap_socket(connection, server_hostname="localhost"))
        connection.sendall(b"GET /")
        select.select([connection], [], [], 20)
        for _ in range(3):
            connection.sendall(b"1")
        return connection.recv(1 << 16)


async def test_response_survives_what_its_client_still_sends(
    short_deadlines: None, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "LINGER_SECONDS", 20.0)
    address = urlsplit(api.url)
    assert address.hostname
    assert address.port
    response = await asyncio.to_thread(send_before_reading, address.hostname, address.port)
    assert response.startswith(b"HTTP/1.1 408 ")


async def test_response_over_tls_survives_what_its_client_still_sends(
    short_deadlines: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "LINGER_SECONDS", 20.0)
    files = make_tls_files(tmp_path)
    trust = ssl.create_default_context(cafile=files.authority)
    # A ticket of the session would look like a response.
    trust.maximum_version = ssl.TLSVersion.TLSv1_2
    tls = TlsContext(CertificateFiles(files.certificate, files.key))
    async with running_server(tmp_path, ReplayEngine(), tls=tls) as api:
        port = int(api.url.rpartition(":")[2])
        response = await asyncio.to_thread(send_before_reading, "localhost", port, trust)
    assert response.startswith(b"HTTP/1.1 408 ")


def send_whole_and_read(port: int, trust: ssl.SSLContext | None) -> bytes:
    """Send a body that is far too large to its end, and only then read."""
    with ExitStack() as stack:
        connection = stack.enter_context(socket.create_connection(("127.0.0.1", port), 20))
        if trust is not None:
            connection = stack.enter_context(trust.wrap_socket(connection, server_hostname="localhost"))
        size = 6 * MAX_BODY_BYTES
        connection.sendall(b"POST /v1/completions HTTP/1.1\r\n" + HEAD + b"Content-Length: %d\r\n\r\n" % size)
        connection.sendall(bytes(size))
        return connection.recv(1 << 16)


@pytest.mark.parametrize("secure", [False, True])
async def test_sender_of_a_large_body_can_read_413(tmp_path: Path, secure: bool) -> None:
    files = make_tls_files(tmp_path)
    trust = ssl.create_default_context(cafile=files.authority) if secure else None
    tls = TlsContext(CertificateFiles(files.certificate, files.key)) if secure else None
    async with running_server(tmp_path, ReplayEngine(), tls=tls) as api:
        response = await asyncio.to_thread(send_whole_and_read, int(api.url.rpartition(":")[2]), trust)
    assert response.startswith(b"HTTP/1.1 413 ")


async def test_client_that_continues_sending_is_closed_in_the_end(short_deadlines: None, client: Client) -> None:
    client.send(b"GET /")
    async with asyncio.timeout(20):
        await trickle(client, b"1")


async def test_headers_trickling_by_line_are_cut_off_with_408(short_deadlines: None, client: Client) -> None:
    client.send(b"GET / HTTP/1.1\r\n" + HEAD)
    async with trickling(client, b"X-A: b\r\n"):
        assert (await client.answer()).status == 408


async def test_trickling_body_is_cut_off_before_reaching_the_engine(
    short_deadlines: None, client: Client, api: Api
) -> None:
    client.send(b"POST /v1/completions HTTP/1.1\r\n" + HEAD + b"Content-Length: 1000\r\n\r\n{")
    async with trickling(client, b" "):
        answer = await client.answer()
        await client.closed()
    assert (answer.status, answer.error["code"]) == (408, "request_too_slow")
    assert is_from_ebb(answer)
    assert api.engine.requests == []


async def test_trickling_chunked_body_is_cut_off_with_408(short_deadlines: None, client: Client) -> None:
    client.send(b"POST /v1/completions HTTP/1.1\r\n" + HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
    async with trickling(client, b"1\r\n \r\n"):
        assert (await client.answer()).status == 408


async def test_unread_body_does_not_hold_its_connection(
    short_deadlines: None, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "DISCARD_SECONDS", 1.0)
    client.send(b"GET /health HTTP/1.1\r\n" + HEAD + b"Content-Length: 1000000\r\n\r\n")
    async with trickling(client, b"x"):
        assert (await client.answer()).status == 200
        await client.closed()


@pytest.mark.parametrize("begin", [b"", b"\r\n"])
async def test_connection_without_a_request_is_closed_silently(
    short_deadlines: None, client: Client, begin: bytes
) -> None:
    client.send(begin)
    assert await client.closed() == b""


async def test_idle_connection_is_kept_but_not_by_empty_lines(short_deadlines: None, client: Client) -> None:
    request = b"GET /health HTTP/1.1\r\n" + HEAD + b"\r\n"
    for _ in range(2):
        client.send(request)
        assert (await client.answer()).status == 200
        await asyncio.sleep(0.3)  # longer than the deadline of a head, but no head has begun
    async with trickling(client, b"\r\n"):
        assert await client.closed() == b""


async def test_trickling_head_of_a_second_request_is_cut_off(short_deadlines: None, client: Client) -> None:
    client.send(b"GET /health HTTP/1.1\r\n" + HEAD + b"\r\n")
    assert (await client.answer()).status == 200
    client.send(b"GET /")
    async with trickling(client, b"1"):
        assert (await client.answer()).status == 408


COMPLETION = b'{"model": "fake-1", "prompt": "x"}'
POST = b"POST /v1/completions HTTP/1.1\r\n" + HEAD + b"Content-Length: %d\r\n\r\n" % len(COMPLETION)


async def held_answer(api: Api, client: Client) -> None:
    """Hold an answer for longer than any deadline, then read it."""
    await api.engine.until_running(1)
    await asyncio.sleep(0.6)
    api.engine.allow(20)
    assert (await client.answer()).status == 200


async def test_request_queued_behind_an_answer_is_not_late(short_deadlines: None, api: Api, client: Client) -> None:
    """Exempt a request from its deadline while the server is answering an earlier one and does not read."""
    api.engine.hold()
    client.send(POST + COMPLETION + POST)
    await held_answer(api, client)
    client.send(COMPLETION)
    await held_answer(api, client)


async def test_complete_pipelined_request_has_no_deadline(short_deadlines: None, api: Api, client: Client) -> None:
    api.engine.hold()
    client.send(POST + COMPLETION + POST + COMPLETION)
    await held_answer(api, client)
    await held_answer(api, client)


async def test_late_head_does_not_end_the_previous_answer(short_deadlines: None, api: Api, client: Client) -> None:
    api.engine.hold()
    client.send(POST + COMPLETION + b"GET /")
    await held_answer(api, client)
    assert (await client.answer()).status == 408


class InPieces(Response):
    """Large response sent like a file: each MiB waits until the client has taken the previous one."""

    def __init__(self, ended: asyncio.Event) -> None:
        super().__init__(bytes(64 << 20))
        self.ended = ended

    async def __call__(self, *arguments: Any) -> None:
        send = arguments[2]
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        for start in range(0, len(self.body), 1 << 20):
            more = start + (1 << 20) < len(self.body)
            await send({"type": "http.response.body", "body": self.body[start : start + (1 << 20)], "more_body": more})
        self.ended.set()


@asynccontextmanager
async def large_answer(folder: Path) -> AsyncIterator[tuple[Client, asyncio.Event]]:
    ended = asyncio.Event()

    async def large(request: Request) -> Response:
        return InPieces(ended)

    async with (
        running_server(folder, ReplayEngine(), routes=[Route("/large", large)]) as server,
        connected(server) as client,
    ):
        client.send(b"GET /large HTTP/1.1\r\n" + HEAD + b"\r\n")
        yield client, ended


async def test_client_that_reads_nothing_is_disconnected(short_deadlines: None, tmp_path: Path) -> None:
    async with large_answer(tmp_path) as (_, ended), asyncio.timeout(20):
        await ended.wait()


async def test_slow_reader_gets_the_whole_response(
    short_deadlines: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "DRAIN_SECONDS", 20.0)
    # Far longer than a pause, which a busy machine may stretch.
    monkeypatch.setattr(protocol, "WRITE_SECONDS", 2.0)
    async with large_answer(tmp_path) as (client, _), asyncio.timeout(20):
        num_bytes = 0
        for _ in range(45):
            num_bytes += len(await client.reader.read(1 << 18))
            # The pauses together exceed the time within which the client must read at least something.
            await asyncio.sleep(0.05)
        while num_bytes < 64 << 20:
            piece = await client.reader.read(1 << 20)
            assert piece, "the connection was cut"
            num_bytes += len(piece)


@pytest.mark.parametrize(
    ("head", "status", "code"),
    [
        (b"GET /%b HTTP/1.1\r\n" % (b"a" * MAX_URL_BYTES) + HEAD, 414, "url_too_long"),
        (b"GET /?q=%b" % (b"a" * (1 << 20)), 414, "url_too_long"),
        (b"GET / HTTP/1.1\r\n" + HEAD + b"X-A: b\r\n" * MAX_HEADERS, 431, "headers_too_large"),
        (b"GET / HTTP/1.1\r\n" + HEAD + b"X-A: %b\r\n" % (b"b" * MAX_HEADER_BYTES), 431, "headers_too_large"),
        (b"GET / HTTP/1.1\r\n" + HEAD + b"X-A: " + b"b" * (1 << 20), 431, "headers_too_large"),
        (b"GET / HTTP/1.1\r\n" + HEAD + b"a" * (1 << 20), 431, "headers_too_large"),
        (b"POST / HTTP/1.1\r\n" + HEAD + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n", 400, "invalid_http"),
        (b"POST / HTTP/1.1\r\n" + HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n", 400, "invalid_http"),
        (b"GET / HTTP/1.1\r\n" + HEAD + b" folded: x\r\n", 400, "invalid_http"),
        (b"\x16\x03\x01\x02\x00\x01\x00", 400, "invalid_http"),
        (b"GET /\xff HTTP/1.1\r\n" + HEAD, 400, "invalid_http"),
        (b"GET / HTTP/1.1\r\n", 400, "invalid_http"),
        (b"GET / HTTP/1.1\r\n" + HEAD + HEAD, 400, "invalid_http"),
        (b"GET / HTTP/1.1\r\nHost: localhost/evil\r\n", 400, "invalid_http"),
        (b"GET / HTTP/1.1\r\nHost: user@localhost\r\n", 400, "invalid_http"),
        (b"GET / HTTP/2.0\r\n" + HEAD, 400, "invalid_http"),
        (b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n", 400, "invalid_http"),
        (b"POST / HTTP/1.1\r\n" + HEAD + b"Transfer-Encoding: gzip\r\n", 501, "unknown_transfer_coding"),
        (
            b"POST / HTTP/1.1\r\n" + HEAD + b"Transfer-Encoding: identity, chunked\r\n",
            501,
            "unknown_transfer_coding",
        ),
    ],
)
async def test_oversized_or_malformed_head_is_refused(
    api: Api, client: Client, head: bytes, status: int, code: str
) -> None:
    client.send(head + b"\r\n")
    answer = await client.answer()
    assert (answer.status, answer.error["code"]) == (status, code)
    assert set(answer.error) == {"message", "type", "param", "code"}
    assert is_from_ebb(answer)
    async with aiohttp.ClientSession(api.url) as http, http.get("/metrics") as metrics:
        assert f'ebb_http_responses_total{{method="other",status="{status}"}} 1.0' in await metrics.text()


async def test_head_of_maximum_size_is_served(client: Client) -> None:
    value = b"b" * (MAX_HEADER_BYTES // (MAX_HEADERS - 1) - 32)
    headers = b"".join(b"X-%d: %b\r\n" % (number, value) for number in range(MAX_HEADERS - 1))
    client.send(b"GET /health?%b HTTP/1.1\r\n" % (b"q" * (MAX_URL_BYTES - 10)) + HEAD + headers + b"\r\n")
    assert (await client.answer()).status == 200


async def test_trailers_and_chunk_extensions_are_bounded(api: Api) -> None:
    head = b"POST /v1/completions HTTP/1.1\r\n" + HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
    for rest in (b"0\r\n" + b"X-A: b\r\n" * MAX_HEADERS, b"0\r\nX-A: " + b"b" * (1 << 20), b"1;" + b"x" * (1 << 20)):
        async with connected(api) as client:
            client.send(head + rest)
            assert (await client.answer()).status == 431
            await client.closed()


async def test_malformed_body_does_not_reach_the_engine(api: Api, client: Client) -> None:
    client.send(b"POST /v1/completions HTTP/1.1\r\n" + HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n")
    answer = await client.answer()
    assert (answer.status, answer.error["code"]) == (400, "invalid_http")
    assert api.engine.requests == []


async def test_garbage_after_a_request_is_refused_after_its_answer(api: Api, client: Client) -> None:
    body = b'{"model": "fake-1", "prompt": "x", "stream": true}'
    api.engine.hold()
    client.send(b"POST /v1/completions HTTP/1.1\r\n" + HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    api.engine.allow(2)
    received = await client.reader.readuntil(b" w0")
    client.send(b"\x00\x00\x00")
    api.engine.allow(None)
    received += await client.closed()
    answer, refusal = received.split(b"\r\n0\r\n\r\n")
    assert answer.endswith(b"data: [DONE]\n\n")
    assert refusal.startswith(b"HTTP/1.1 400 ")
    assert b"invalid_http" in refusal


async def test_garbage_does_not_replace_an_answer_that_has_not_begun(api: Api, client: Client) -> None:
    client.send(POST + COMPLETION + b"\x00")
    assert (await client.answer()).status == 200
    assert (await client.answer()).error["code"] == "invalid_http"
    assert await client.closed() == b""


async def test_fault_in_an_answered_body_gets_no_second_response(client: Client) -> None:
    client.send(b"GET /health HTTP/1.1\r\n" + HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
    assert (await client.answer()).status == 200
    client.send(b"zz\r\n")
    assert await client.closed() == b""


async def test_waiting_requests_of_a_connection_are_bounded(api: Api, client: Client) -> None:
    api.engine.hold()
    client.send((POST + COMPLETION) * 10_000)
    await api.engine.until_running(1)
    api.engine.allow(None)
    for _ in range(1 + MAX_PIPELINED):
        assert (await client.answer()).status == 200
    last = await client.answer()
    assert (last.status, last.error["code"], last.headers["connection"]) == (429, "too_many_pipelined", "close")
    assert await client.closed() == b""
    assert len(api.engine.requests) == 1 + MAX_PIPELINED


async def test_client_that_leaves_requests_behind_is_noticed(api: Api, client: Client) -> None:
    api.engine.hold()
    client.send(POST + COMPLETION)
    await api.engine.until_running(1)
    client.send(POST + COMPLETION)
    client.writer.close()
    await api.engine.until_running(0)
    assert len(api.engine.requests) == 1


def compressed_completion(body: bytes, encoding: bytes = b"gzip") -> bytes:
    head = b"POST /v1/completions HTTP/1.1\r\n" + HEAD
    return head + b"Content-Encoding: %b\r\nContent-Length: %d\r\n\r\n%b" % (encoding, len(body), body)


@pytest.mark.parametrize(("encoding", "compress"), [(b"gzip", gzip.compress), (b"deflate", zlib.compress)])
async def test_compressed_body_is_accepted(client: Client, encoding: bytes, compress: Callable[[bytes], bytes]) -> None:
    body = compress(json.dumps({"model": "fake-1", "prompt": "x"}).encode())
    client.send(compressed_completion(body, encoding))
    assert (await client.answer()).status == 200


@pytest.mark.parametrize(
    ("encoding", "body", "status", "words"),
    [
        (b"gzip", gzip.compress(bytes(MAX_BODY_BYTES + 1), mtime=0), 413, "larger than 4 MiB after decompression"),
        (b"gzip", gzip.compress(b"{}" * 1000, mtime=0)[:-9], 400, "compressed body is incomplete"),
        (b"gzip", b"{}", 400, "does not match its Content-Encoding"),
        (b"br", b"{}", 415, "use gzip or deflate"),
    ],
)
async def test_invalid_compressed_body_is_refused_with_the_reason(
    client: Client, encoding: bytes, body: bytes, status: int, words: str
) -> None:
    client.send(compressed_completion(body, encoding))
    answer = await client.answer()
    assert answer.status == status
    assert words in answer.error["message"]
