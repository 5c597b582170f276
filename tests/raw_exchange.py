"""A client that sends packets as they are given, and an application that records what it receives."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from app.logs.request_log import PROBES
from app.transport.refusals import REFUSAL
from tests.raw_messages import Told

PASSES: Final = 4
"""Passes of the event loop, which the server shares, between two packets. Usually the server reads a packet in them."""


@dataclass(frozen=True)
class Response:
    """A final response of a server. ends: whether the response announces the end of the connection."""

    status: int
    body: bytes
    ends: bool


async def exchange(port: int, packets: Sequence[bytes], expected: int | None = None) -> list[Response]:
    """Send `packets` on one connection, and return the responses until the connection closes.

    expected: number of responses after which the client sends its end; None to wait for the end of the server.
    """
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    found = list[Response]()
    try:
        async with asyncio.timeout(20):
            for packet in packets:
                writer.write(packet)
                for _ in range(PASSES):
                    await asyncio.sleep(0)
            while expected is None or len(found) < expected:
                found.append(await _response(reader))
            writer.write_eof()
            while True:
                found.append(await _response(reader))
    except (OSError, asyncio.IncompleteReadError) as error:
        if isinstance(error, TimeoutError):
            raise
        return found
    finally:
        writer.close()


async def _response(reader: asyncio.StreamReader) -> Response:
    """Read the next final response. Raise IncompleteReadError at the end of the connection."""
    status, length, ends = 0, 0, False
    while status < 200:
        status = int((await reader.readuntil(b"\r\n")).split()[1])
        while (line := (await reader.readuntil(b"\r\n")).strip().lower()) != b"":
            if line.startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
            ends = ends or line == b"connection: close"
    return Response(status, await reader.readexactly(length), ends)


async def echo(request: Request) -> JSONResponse:
    """Return the request as the application sees it at the end of its body."""
    body = (await request.body()).decode("latin-1")
    headers = [[name.decode("latin-1"), value.decode("latin-1")] for name, value in request.headers.raw]
    return JSONResponse({"path": request.url.path, "query": request.url.query, "body": body, "headers": headers})


@dataclass(frozen=True)
class Seen:
    """A complete request that an application received, and its headers in lower case."""

    told: Told
    headers: Sequence[tuple[bytes, bytes]]

    def values(self, name: bytes) -> list[bytes]:
        """Return the values of all headers with this name."""
        return [value for key, value in self.headers if key == name]


class Recorder:
    """Application that reads each request to its end, records it unless it is a probe, and answers without a body."""

    def __init__(self) -> None:
        self.seen = list[Seen]()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request (ASGI)."""
        status, body, more = 200, b"", True
        if (refusal := scope["state"].get(REFUSAL)) is not None:
            status, more = refusal.status, False
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body, more = body + message["body"], message["more_body"]
        if status == 200 and scope["path"] not in PROBES:
            query = scope["query_string"]
            target = scope["raw_path"] + (b"?" + query if query else b"")
            self.seen.append(Seen(Told(scope["method"].encode(), target, body), scope["headers"]))
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
