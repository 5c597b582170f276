"""Reader of one stream of the replay engine over a raw socket, which records lateness and missing tokens.

The reader shares two cores with the server. So an event costs one clock reading and one search, and no data is kept.
"""

import asyncio
import json
import re
import socket
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from engine.testing.schedule import clock, lateness

CHAT_TEXT: Final = re.compile(rb'"content":"((?: \d+)+)"')
RUN_TEXT: Final = re.compile(rb'"text":"((?: \d+)+)"')
SMALL_BUFFER: Final = 4096
"""Receive buffer of a reader that stops reading, so that the kernel buffers little on its behalf."""


@dataclass(slots=True)
class Window:
    """Range of measured steps, and the lateness of their tokens at all readers.

    first, last: bounds of the range, both included.
    late: seconds by which each token was late.
    """

    first: int
    last: int
    late: "array[float]" = field(default_factory=lambda: array("d"))


class StreamReader(asyncio.Protocol):
    """Connection that reads one stream to its end.

    steps: number of tokens received.
    faults: tokens out of order, plus 1 if the connection broke.
    closed: future that resolves when the connection has ended.
    opened: future of the seconds from sending the request to the first token, cancelled if none came.
    sent: time at which the request was sent.
    """

    def __init__(self, request: bytes, text: re.Pattern[bytes], window: Window) -> None:
        self.steps = 0
        self.faults = 0
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.opened: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self.sent = 0.0
        self._request = request
        self._text = text
        self._window = window
        self._expected = 0
        self._rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See asyncio.Protocol."""
        self.sent = clock()
        cast(asyncio.Transport, transport).write(self._request)

    def data_received(self, data: bytes) -> None:
        """See asyncio.Protocol. Only complete events are parsed."""
        now = clock()
        data = self._rest + data
        end = data.rfind(b"\n\n") + 2
        if end == 1:
            self._rest = data
            return
        for match in self._text.finditer(data, 0, end):
            for step in match[1].split():
                self._take(int(step), now)
        self._rest = data[end:]

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio.Protocol."""
        self.faults += exc is not None
        if not self.closed.done():
            self.closed.set_result(None)
        if not self.opened.done():
            self.opened.cancel()

    def _take(self, step: int, now: float) -> None:
        if self.steps == 0:
            # The request, not the schedule, triggers the first token.
            self.opened.set_result(now - self.sent)
        elif step != self._expected:
            self.faults += 1
        elif self._window.first <= step <= self._window.last:
            self._window.late.append(lateness(step, now))
        self._expected = step + 1
        self.steps += 1


@dataclass(frozen=True, slots=True)
class Address:
    """Host and port of a server."""

    host: str
    port: int

    def post(self, path: str, body: Mapping[str, Any]) -> bytes:
        """Build a request that has a JSON body and asks the server to close the connection."""
        content = json.dumps(body).encode()
        return self._head("POST", path, f"Content-Length: {len(content)}\r\n") + content

    def get(self, path: str, **headers: str) -> bytes:
        """Build a request without a body. Header names are written with underscores."""
        lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        return self._head("GET", path, lines)

    def _head(self, method: str, path: str, lines: str) -> bytes:
        return f"{method} {path} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\nConnection: close\r\n{lines}\r\n".encode()

    def socket(self, *, small: bool = False) -> socket.socket:
        """Create an unconnected, non-blocking socket.

        With `small`, the kernel buffers next to nothing while the reader does not read.
        """
        made = socket.socket()
        made.setblocking(False)
        if small:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER)
        return made
