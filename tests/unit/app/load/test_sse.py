"""The reader of event streams, against what servers and proxies really send."""

import pytest

from app.load.sse import SSEEvent, SSEParser

STREAM = (
    "\ufeff: hello\r\n"
    'data: {"text": "Grüße, 世界 🌊"}\r\n\r\n'
    "event: delta\nid: run_1:0.7\ndata: first line\ndata:second line\n\n"
    "retry: 100\nunknown: field\n\n"
    "data\r\r"
    "data: [DONE]\n\n"
).encode()

EVENTS = [
    SSEEvent('{"text": "Grüße, 世界 🌊"}'),
    SSEEvent("first line\nsecond line", "delta", "run_1:0.7"),
    SSEEvent("", id="run_1:0.7"),
    SSEEvent("[DONE]", id="run_1:0.7"),
]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 64, 10_000])
def test_events_are_the_same_however_the_stream_is_cut(size: int) -> None:
    parser = SSEParser()
    pieces = [STREAM[i : i + size] for i in range(0, len(STREAM), size)]

    assert [event for piece in pieces for event in parser.feed(piece)] == EVENTS


def test_an_event_without_its_blank_line_is_not_dispatched() -> None:
    assert SSEParser().feed(b"data: half of an event\n") == []


def test_a_crlf_torn_between_two_pieces_is_one_line_end() -> None:
    parser = SSEParser()

    assert parser.feed(b"data: one\r") == []
    assert parser.feed(b"\ndata: two\r\n\r\n") == [SSEEvent("one\ntwo")]
