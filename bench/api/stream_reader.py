"""Reads one stream of the replay engine over a raw socket: every token's lateness, and whether any is missing.

It shares two cores with the server, so an event costs it one look at the clock and one search, and nothing is kept.
"""

import asyncio
import json
import re
import socket
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from bench.api.schedule import clock, lateness

CHAT_TEXT: Final = re.compile(rb'"content":"((?: \d+)+)"')
RUN_TEXT: Final = re.compile(rb'"text":"((?: \d+)+)"')
SMALL_BUFFER: Final = 4096
"""For a reader that does not read, so that little hides in the system."""


@dataclass(slots=True)
class Window:
    """The steps that are measured, and by how many seconds their tokens were late at all readers."""

    first: int
    last: int
    late: "array[float]" = field(default_factory=lambda: array("d"))


class StreamReader(asyncio.Protocol):
    """steps: how many tokens came. faults: tokens out of their order, and a connection that broke. opened: seconds from
    when the request was sent to the first token."""

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
        """asyncio."""
        self.sent = clock()
        cast(asyncio.Transport, transport).write(self._request)

    def data_received(self, data: bytes) -> None:
        """asyncio. Only whole events are read."""
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
        """asyncio."""
        self.faults += exc is not None
        if not self.closed.done():
            self.closed.set_result(None)
        if not self.opened.done():
            self.opened.cancel()

    def _take(self, step: int, now: float) -> None:
        if self.steps == 0:
            # The first token comes with the request, not with the schedule.
            self.opened.set_result(now - self.sent)
        elif step != self._expected:
            self.faults += 1
        elif self._window.first <= step <= self._window.last:
            self._window.late.append(lateness(step, now))
        self._expected = step + 1
        self.steps += 1


@dataclass(frozen=True, slots=True)
class Address:
    """Where the server is."""

    host: str
    port: int

    def post(self, path: str, body: Mapping[str, Any]) -> bytes:
        """A request on a connection of its own."""
        content = json.dumps(body).encode()
        return self._head("POST", path, f"Content-Length: {len(content)}\r\n") + content

    def get(self, path: str, **headers: str) -> bytes:
        """The same, without a body. Names of headers are written with underscores."""
        lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        return self._head("GET", path, lines)

    def _head(self, method: str, path: str, lines: str) -> bytes:
        return f"{method} {path} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\nConnection: close\r\n{lines}\r\n".encode()

    def socket(self, *, small: bool = False) -> socket.socket:
        """Not connected yet. small: it takes next to nothing while nobody reads."""
        made = socket.socket()
        made.setblocking(False)
        if small:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER)
        return made
