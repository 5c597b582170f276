import asyncio
import re
import sys
from collections.abc import AsyncGenerator, MutableMapping
from pathlib import Path
from types import FrameType
from typing import Any

import anyio
import pytest

from app.routes import events
from app.transport.direct_writer import EXTENSION
from app.transport.event_stream import PING_SECONDS, SILENCE_SECONDS, EventStream, Ping
from app.transport.frames import EVENTS, JSON_LINES, Framing

Scope = MutableMapping[str, Any]
SCOPE: Scope = {"type": "http", "method": "GET", "headers": []}


async def never() -> Scope:
    """Wait forever, like a client that stays connected."""
    await asyncio.Event().wait()
    raise AssertionError


async def gone() -> Scope:
    """Report that the client has disconnected."""
    return {"type": "http.disconnect"}


class Sent:
    """A recorder of the messages that a response sends."""

    def __init__(self) -> None:
        self.headers: dict[str, str] = {}
        self.body = b""
        self.ended = False

    async def __call__(self, message: Scope) -> None:
        if message["type"] == "http.response.start":
            self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        else:
            self.body += message["body"]
            self.ended = not message["more_body"]


async def test_frames_are_sent_unchanged_and_stream_ends_cleanly() -> None:
    async def frames() -> AsyncGenerator[bytes, None]:
        yield b"data: 1\n\n"
        yield b"data: 2\n\n"

    sent = Sent()
    await EventStream(lambda _: frames(), headers={"X-Run-Id": "run_1"})(SCOPE, never, sent)
    assert sent.body == b"data: 1\n\ndata: 2\n\n"
    assert sent.ended
    assert sent.headers == {
        "cache-control": "no-cache",
        "content-type": "text/event-stream; charset=utf-8",
        "x-accel-buffering": "no",
        "x-run-id": "run_1",
    }


class Writer:
    """A connection that takes every message at once."""

    filler = b""
    ready = True
    aborted = False

    def write(self, piece: bytes) -> None:
        raise AssertionError

    def abort(self) -> None:
        self.aborted = True


async def test_json_lines_have_their_own_content_type_and_filler() -> None:
    async def frames() -> AsyncGenerator[bytes, None]:
        yield b"{}\n"

    sent, writer = Sent(), Writer()
    scope = {**SCOPE, "extensions": {EXTENSION: writer}}
    await EventStream(lambda _: frames(), headers={}, framing=JSON_LINES)(scope, never, sent)
    assert sent.headers["content-type"] == "application/x-ndjson"
    assert (sent.body, writer.filler) == (b"{}\n", b" ")


async def test_frame_on_ready_connection_calls_no_loop() -> None:
    folders = (*asyncio.__path__, *anyio.__path__)
    called = []

    def note(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(folders):
            called.append(frame.f_code.co_qualname)

    async def frames() -> AsyncGenerator[bytes, None]:
        sys.setprofile(note)
        for _ in range(10):
            yield b"data: 1\n\n"
        sys.setprofile(None)

    sent = Sent()
    await EventStream(lambda _: frames(), headers={})({**SCOPE, "extensions": {EXTENSION: Writer()}}, never, sent)
    assert called == []
    assert sent.body == b"data: 1\n\n" * 10


async def test_head_request_gets_headers_and_no_frames() -> None:
    closed = []

    async def frames() -> AsyncGenerator[bytes, None]:
        yield b"data: 1\n\n"

    sent = Sent()
    response = EventStream(lambda _: frames(), headers={"X-Run-Id": "run_1"}, on_close=lambda: closed.append(True))
    await response({**SCOPE, "method": "HEAD"}, never, sent)
    assert sent.headers["x-run-id"] == "run_1"
    assert (sent.body, sent.ended, closed) == (b"", True, [True])


async def test_on_close_runs_if_client_leaves_before_first_event() -> None:
    closed = []

    async def frames() -> AsyncGenerator[bytes, None]:
        await never()
        yield b""

    await EventStream(lambda _: frames(), headers={}, on_close=lambda: closed.append(True))(SCOPE, gone, Sent())
    assert closed == [True]


async def test_on_close_runs_when_frames_fail() -> None:
    closed = []

    async def frames() -> AsyncGenerator[bytes, None]:
        yield b"data: 1\n\n"
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError):
        await EventStream(lambda _: frames(), headers={}, on_close=lambda: closed.append(True))(SCOPE, never, Sent())
    assert closed == [True]


async def test_frames_may_await_in_their_cleanup_when_client_leaves() -> None:
    cleaned = []

    async def frames() -> AsyncGenerator[bytes, None]:
        try:
            await never()
            yield b""
        finally:
            for _ in range(3):
                await asyncio.sleep(0)
            cleaned.append(True)

    await EventStream(lambda _: frames(), headers={})(SCOPE, gone, Sent())
    assert cleaned == [True]


@pytest.mark.parametrize("framing", [EVENTS, JSON_LINES], ids=["events", "lines"])
async def test_silent_stream_is_kept_alive_by_fillers(framing: Framing) -> None:
    pinged = asyncio.Event()

    async def frames() -> AsyncGenerator[bytes, None]:
        await pinged.wait()
        yield b"data: 1\n\n"

    class Listening(Sent):
        async def __call__(self, message: Scope) -> None:
            await super().__call__(message)
            if self.body.count(framing.filler) == 2:
                pinged.set()

    sent = Listening()
    await EventStream(lambda _: frames(), headers={}, framing=framing, ping_seconds=0.001)(SCOPE, never, sent)
    assert sent.body.startswith(framing.filler * 2)
    assert sent.body.endswith(b"data: 1\n\n")
    assert sent.ended


async def test_ping_waits_for_frame_that_is_pending() -> None:
    due = asyncio.Event()

    async def frames() -> AsyncGenerator[bytes, None]:
        yield b"data: 1\n\n"

    class Slow(Sent):
        async def __call__(self, message: Scope) -> None:
            if message.get("body") == b"data: 1\n\n":
                await due.wait()
            await super().__call__(message)

    def ping() -> Ping:
        due.set()
        return Ping(EVENTS.filler)

    sent = Slow()
    response = EventStream(lambda _: frames(), headers={}, ping_seconds=0.001)
    response.send_timeout = None
    response.ping_message_factory = ping
    async with asyncio.timeout(20):
        await response(SCOPE, never, sent)
    assert sent.body == b"data: 1\n\n" + EVENTS.filler
    assert sent.ended


def test_page_waits_for_two_pings_of_any_stream() -> None:
    page = Path(__file__).parents[4] / "web" / "src" / "services" / "api" / "event_stream.ts"
    found = re.search(r"SILENCE_MS = ([\d_]+);", page.read_text(encoding="utf-8"))
    assert found is not None
    assert int(found[1]) == 1000 * SILENCE_SECONDS
    assert 2 * max(PING_SECONDS, events.PING_SECONDS) <= SILENCE_SECONDS


class Frozen(Sent):
    """A client that stops reading after the headers and `reads` frames."""

    def __init__(self, reads: int) -> None:
        super().__init__()
        self._left = reads + 1

    async def __call__(self, message: Scope) -> None:
        if not self._left:
            await never()
        self._left -= 1
        await super().__call__(message)


@pytest.mark.parametrize("more", [True, False], ids=["while frames come", "while none come"])
async def test_client_that_stops_reading_is_dropped(more: bool) -> None:
    closed = []

    async def frames() -> AsyncGenerator[bytes, None]:
        yield b"data: 1\n\n"
        if not more:
            await never()
        yield b"data: 2\n\n"

    sent = Frozen(reads=1)
    response = EventStream(lambda _: frames(), headers={}, on_close=lambda: closed.append(True), ping_seconds=0.001)
    await asyncio.wait_for(response(SCOPE, never, sent), 30)
    assert closed == [True]
    assert sent.body == b"data: 1\n\n"
    assert not sent.ended


async def test_cancelled_request_raises_cancelled_error() -> None:
    started = asyncio.Event()

    async def frames() -> AsyncGenerator[bytes, None]:
        yield b"data: 1\n\n"
        started.set()
        await never()

    serving = asyncio.create_task(EventStream(lambda _: frames(), headers={})(SCOPE, never, Sent()))
    await started.wait()
    serving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await serving
