"""Reader of a run that stops reading for a while and then reads everything that it missed."""

import asyncio
import json
from typing import cast

from app.load.http_stream import Piece, read_response
from app.load.sse import SSEEvent, SSEParser
from bench.api.stream_reader import Address
from engine.testing.schedule import clock

_ENDS = ("done", "error")


class _Kept(asyncio.Protocol):
    """Connection that keeps all received data."""

    def __init__(self, request: bytes) -> None:
        self.pieces: list[Piece] = []
        self.connected: asyncio.Future[asyncio.Transport] = asyncio.get_running_loop().create_future()
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._request = request

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See asyncio.Protocol."""
        given = cast(asyncio.Transport, transport)
        given.write(self._request)
        self.connected.set_result(given)

    def data_received(self, data: bytes) -> None:
        """See asyncio.Protocol."""
        self.pieces.append((clock(), data))

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio.Protocol. The server may have dropped this reader; data received before counts."""
        del exc
        self.closed.set_result(None)

    def events(self) -> list[SSEEvent]:
        """Parse the complete events."""
        parser = SSEParser()
        return [event for _, part in read_response(self.pieces)[1] for event in parser.feed(part)]


class FrozenReader:
    """Reader that freezes once and resumes the run by Last-Event-ID.

    connections: connections opened so far.
    num_deltas: delta events received so far.
    """

    def __init__(self, address: Address, request: bytes) -> None:
        self.connections = 0
        self.num_deltas = 0
        self._address = address
        self._request = request
        self._texts: list[str] = []
        self._run_id = ""
        self._last_id = ""
        self._ended = False

    @property
    def is_whole(self) -> bool:
        """Whether the run's end arrived and its text has every step from the first to the last, each once."""
        steps = [int(step) for step in "".join(self._texts).split()]
        return self._ended and bool(steps) and steps == list(range(steps[0], steps[0] + len(steps)))

    @property
    def num_steps(self) -> int:
        """Number of tokens received."""
        return len("".join(self._texts).split())

    async def read(self, freeze_at: float, seconds: float) -> None:
        """Read, freeze, and read the rest on as many connections as necessary.

        freeze_at: when to stop reading, on the clock of `engine.testing.schedule`.
        seconds: duration of the freeze.
        """
        kept = await self._connect(self._request, small=True)
        transport = await kept.connected
        await asyncio.sleep(freeze_at - clock())
        transport.pause_reading()
        await asyncio.sleep(seconds)
        transport.resume_reading()
        await self._take(kept)
        while not self._ended:
            again = self._address.get(f"/api/runs/{self._run_id}/events", Last_Event_ID=self._last_id)
            await self._take(await self._connect(again))

    async def _connect(self, request: bytes, *, small: bool = False) -> _Kept:
        loop = asyncio.get_running_loop()
        sock = self._address.socket(small=small)
        await loop.sock_connect(sock, (self._address.host, self._address.port))
        _, kept = await loop.create_connection(lambda: _Kept(request), sock=sock)
        self.connections += 1
        return kept

    async def _take(self, kept: _Kept) -> None:
        await kept.closed
        for event in kept.events():
            self._last_id = event.id or self._last_id
            self._run_id = self._last_id.partition(":")[0]
            if event.event == "delta":
                self._texts.append(json.loads(event.data)["text"])
                self.num_deltas += 1
            self._ended = self._ended or event.event in _ENDS
