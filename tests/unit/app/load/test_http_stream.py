"""Parsing of an HTTP response from timed pieces of any size."""

import pytest

from app.load.http_stream import read_response

CHUNKED = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"6\r\none\r\n\n\r\n5;name=value\r\ntwo\n\n\r\n0\r\n\r\n"
)
PLAIN = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 4\r\n\r\nno!\n"


@pytest.mark.parametrize("size", [1, 2, 7, 64, 1_000])
def test_pieces_of_any_size_yield_same_response(size: int) -> None:
    def pieces(whole: bytes) -> list[tuple[float, bytes]]:
        return [(float(at), whole[at : at + size]) for at in range(0, len(whole), size)]

    status, body = read_response(pieces(CHUNKED))
    refused, reason = read_response(pieces(PLAIN))

    assert (status, b"".join(data for _, data in body)) == (200, b"one\r\n\ntwo\n\n")
    assert (refused, b"".join(data for _, data in reason)) == (400, b"no!\n")


def test_chunk_is_timed_at_its_last_byte() -> None:
    cut = CHUNKED.index(b"one") + 2

    _, body = read_response([(1.0, CHUNKED[:cut]), (2.0, CHUNKED[cut:-10]), (3.0, CHUNKED[-10:])])

    assert body == [(2.0, b"one\r\n\n"), (3.0, b"two\n\n")]


@pytest.mark.parametrize("data", [b"", b"HTTP/1.1 200 OK\r\n", b"SSH-2.0-server\r\n\r\n", b"HTTP/1.1 OK\r\n\r\n"])
def test_malformed_response_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_response([(0.0, data)])
