"""HTTP/1.1 POST request whose response is only timestamped on arrival, and parsed after its end (RFC 9112).

A client on the machine under test takes CPU time from the server. A full HTTP client spends time on each piece of a
stream, which matters at thousands of tokens a second. Here a piece costs one read and one reading of the clock.
"""

import asyncio
import json
import ssl
import time
from collections.abc import Mapping, Sequence
from typing import cast
from urllib.parse import urlsplit

Piece = tuple[float, bytes]
"""Time of arrival (time.perf_counter) and bytes."""

_EVENT = b"data"
_END_OF_HEAD = b"\r\n\r\n"


class _Arrivals(asyncio.Protocol):
    """Everything received on one connection.

    last_event: time of the last data that looks like an event.
    """

    def __init__(self, request: bytes) -> None:
        self.pieces: list[Piece] = []
        self.last_event = time.perf_counter()
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._request = request

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        cast(asyncio.Transport, transport).write(self._request)

    def data_received(self, data: bytes) -> None:
        now = time.perf_counter()
        self.pieces.append((now, data))
        if _EVENT in data:
            self.last_event = now

    def connection_lost(self, exc: Exception | None) -> None:
        if self.closed.done():
            return
        if exc is None:
            self.closed.set_result(None)
        else:
            self.closed.set_exception(exc)


async def post_stream(
    url: str,
    body: Mapping[str, object],
    headers: Mapping[str, str],
    stall_seconds: float,
    tls: ssl.SSLContext | None = None,
) -> tuple[int, list[Piece]]:
    """Send `body` as JSON and return the status and the pieces of the response body.

    Uses a separate connection, which the server closes.

    tls: context for https; None trusts the system's authorities.

    Raises:
        TimeoutError: no event came for `stall_seconds`. Comments do not count as events.
        OSError: the connection failed.
        ValueError: the response is not HTTP, or `url` has no host.
    """
    parts = urlsplit(url)
    if parts.hostname is None:
        raise ValueError(f"{url!r} names no host")
    arrivals = _Arrivals(_request(parts.path, parts.netloc, body, headers))
    secure = tls or ssl.create_default_context() if parts.scheme == "https" else None
    port = parts.port or (443 if secure else 80)
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(stall_seconds):
        transport, _ = await loop.create_connection(lambda: arrivals, parts.hostname or "", port, ssl=secure)
    try:
        while not arrivals.closed.done():
            left = arrivals.last_event + stall_seconds - time.perf_counter()
            if left <= 0:
                raise TimeoutError(f"no event for {stall_seconds:g} s")
            await asyncio.wait({arrivals.closed}, timeout=left)
        arrivals.closed.result()
    finally:
        transport.abort()
    return read_response(arrivals.pieces)


def read_response(pieces: Sequence[Piece]) -> tuple[int, list[Piece]]:
    """Parse the status, and the parts of the body with the times at which each was complete.

    Raise ValueError if the response is not HTTP.
    """
    reader = _Reader()
    body = [(at, part) for at, data in pieces if (part := reader.feed(data))]
    if reader.status == 0:
        raise ValueError("the connection ended before the head of a response")
    return reader.status, body


class _Reader:
    """Incremental parser of a response. Each chunk of a chunked body is returned once complete."""

    def __init__(self) -> None:
        self.status = 0
        self._chunked = False
        self._unread = bytearray()

    def feed(self, data: bytes) -> bytes:
        self._unread += data
        if self.status == 0:
            # A part of the mark may have come with the data before.
            end = self._unread.find(_END_OF_HEAD, max(0, len(self._unread) - len(data) - len(_END_OF_HEAD)))
            if end < 0:
                return b""
            self._read_head(bytes(self._unread[:end]))
            del self._unread[: end + len(_END_OF_HEAD)]
        if self._chunked:
            return self._chunks()
        body = bytes(self._unread)
        self._unread.clear()
        return body

    def _read_head(self, head: bytes) -> None:
        first, *fields = head.split(b"\r\n")
        version, _, status = first.partition(b" ")
        if not version.startswith(b"HTTP/1.") or not status[:3].isdigit():
            raise ValueError(f"not the head of an HTTP response: {first[:80]!r}")
        self.status = int(status[:3])
        self._chunked = any(field.lower().replace(b" ", b"") == b"transfer-encoding:chunked" for field in fields)

    def _chunks(self) -> bytes:
        whole, at = list[bytes](), 0
        while (end := self._unread.find(b"\r\n", at)) >= 0:
            size, begin = int(self._unread[at:end].partition(b";")[0], 16), end + 2
            if size == 0 or len(self._unread) < begin + size + 2:
                break
            whole.append(bytes(self._unread[begin : begin + size]))
            at = begin + size + 2
        del self._unread[:at]
        return b"".join(whole)


def _request(path: str, host: str, body: Mapping[str, object], headers: Mapping[str, str]) -> bytes:
    content = json.dumps(body).encode()
    fields = {
        "Host": host,
        "Content-Type": "application/json",
        "Content-Length": str(len(content)),
        "Connection": "close",
        **headers,
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + content
