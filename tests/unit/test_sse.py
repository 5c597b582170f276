import asyncio
import json
from collections.abc import AsyncIterator, MutableMapping
from typing import Any

import pytest

from app.sse import EventStream, data_frame, event_frame

Scope = MutableMapping[str, Any]
SCOPE: Scope = {"type": "http", "method": "GET", "headers": []}


async def never() -> Scope:
    """A client that stays."""
    await asyncio.Event().wait()
    raise AssertionError


async def gone() -> Scope:
    """A client that has left."""
    return {"type": "http.disconnect"}


class Sent:
    """What the response sent."""

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


def test_a_frame_is_one_event_in_the_format_of_the_standard() -> None:
    frame = event_frame("delta", {"text": "a\nb"}, "run:0.2")
    assert frame == b'id: run:0.2\nevent: delta\ndata: {"text":"a\\nb"}\n\n'


def test_text_of_any_language_survives() -> None:
    text = 'ぷ 🌊 é "quoted" \\ \u2028 \x00'
    assert json.loads(data_frame({"text": text}).removeprefix(b"data: ").decode()) == {"text": text}


def test_a_frame_has_no_more_lines_for_clients_that_split_at_every_unicode_line_end() -> None:
    text = "a\x0bb\x0cc\x1cd\x1de\x1ef\x85g\u2028h\u2029i"
    frame = data_frame({"text": text}).decode()
    assert len(frame.rstrip("\n").splitlines()) == 1
    assert json.loads(frame.removeprefix("data: ")) == {"text": text}


async def test_ready_bytes_are_sent_as_they_are_and_the_stream_ends_cleanly() -> None:
    async def frames() -> AsyncIterator[bytes]:
        yield b"data: 1\n\n"
        yield b"data: 2\n\n"

    sent = Sent()
    await EventStream(frames(), headers={"X-Run-Id": "run_1"})(SCOPE, never, sent)
    assert sent.body == b"data: 1\n\ndata: 2\n\n"
    assert sent.ended
    assert sent.headers["content-type"].startswith("text/event-stream")
    assert sent.headers["x-run-id"] == "run_1"
    assert "no-" in sent.headers["cache-control"]


async def test_on_close_runs_when_the_client_leaves_before_the_first_event() -> None:
    closed = []

    async def frames() -> AsyncIterator[bytes]:
        await never()
        yield b""

    await EventStream(frames(), headers={}, on_close=lambda: closed.append(True))(SCOPE, gone, Sent())
    assert closed == [True]


async def test_on_close_runs_when_the_frames_fail() -> None:
    closed = []

    async def frames() -> AsyncIterator[bytes]:
        yield b"data: 1\n\n"
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError):
        await EventStream(frames(), headers={}, on_close=lambda: closed.append(True))(SCOPE, never, Sent())
    assert closed == [True]
