"""RESP connections to a scripted listener that sends its bytes in pieces of any size."""

import socket
import threading
import time
from collections.abc import Sequence
from dataclasses import replace

import pytest

from cache_tiers.redis.errors import RedisProtocolError, RedisRefusedError
from cache_tiers.redis.resp import ErrorReply, RespConnection, Timeouts, command
from tests.listener import Listener, Script

pytest_plugins = ["tests.listener_fixtures"]


def saying(*pieces: bytes) -> Script:
    def script(connection: socket.socket) -> None:
        for piece in pieces:
            connection.sendall(piece)
        connection.recv(1)

    return script


def connect(listener: Listener, timeouts: Timeouts | None = None) -> RespConnection:
    connection = RespConnection(listener.address, timeouts or Timeouts())
    connection.start_exchange()
    return connection


REPLIES = b"+OK\r\n:-42\r\n$5\r\nhe\r\no\r\n$0\r\n\r\n$-1\r\n-ERR no such thing\r\n"


@pytest.mark.parametrize("size", [1, 2, 3, 7, len(REPLIES)])
def test_replies_are_read_from_pieces_of_any_size(listener: Listener, size: int) -> None:
    listener.play(saying(*(REPLIES[start : start + size] for start in range(0, len(REPLIES), size))))
    connection = connect(listener)
    assert [connection.read_reply() for _ in range(6)] == [
        b"OK",
        -42,
        b"he\r\no",
        b"",
        None,
        ErrorReply("ERR no such thing"),
    ]
    connection.close()


@pytest.mark.parametrize("size", [1, 1000, 100_000])
def test_bulk_value_is_read_into_callers_buffer(listener: Listener, size: int) -> None:
    value = bytes(range(256)) * 200
    stream = b"$%d\r\n%s\r\n+OK\r\n" % (len(value), value)
    listener.play(saying(*(stream[start : start + size] for start in range(0, len(stream), size))))
    connection = connect(listener)
    assert connection.read_bulk_length() == len(value)
    target = bytearray(len(value) - 1000)
    connection.read_into(memoryview(target))
    connection.skip(1000)
    connection.end_bulk()
    assert target == value[:-1000]
    assert connection.read_reply() == b"OK"
    connection.close()


def test_large_parts_are_sent_in_order(listener: Listener) -> None:
    received = bytearray()
    whole = threading.Event()
    parts: Sequence[bytes | memoryview] = [b"head", memoryview(bytes(range(256)) * 8192), b"", b"tail"]
    wanted = sum(memoryview(part).nbytes for part in parts)

    def script(connection: socket.socket) -> None:
        while len(received) < wanted:
            received.extend(connection.recv(100_000))
        whole.set()

    listener.play(script)
    connection = connect(listener)
    connection.send(parts)
    assert whole.wait(10)
    assert received == b"".join(parts)
    connection.close()


@pytest.mark.parametrize("garbage", [b"HTTP/1.1 200 OK\r\n", b"$x\r\n", b"*1\r\n", b"+" + b"x" * 20_000, b"+OK\n"])
def test_malformed_reply_raises_protocol_error(listener: Listener, garbage: bytes) -> None:
    listener.play(saying(garbage))
    connection = connect(listener)
    with pytest.raises(RedisProtocolError):
        connection.read_reply()
    connection.close()


def test_oversized_bulk_value_raises_protocol_error(listener: Listener) -> None:
    listener.play(saying(b"$3\r\nabcdef\r\n"))
    connection = connect(listener)
    with pytest.raises(RedisProtocolError):
        connection.read_reply()
    connection.close()


@pytest.mark.parametrize("error", [b"LOADING Redis is loading", b"WRONGPASS no", b"ERR max number of clients reached"])
def test_refused_sign_in_names_command_and_reply(listener: Listener, error: bytes) -> None:
    listener.play(saying(b"-" + error + b"\r\n"))
    with pytest.raises(RedisRefusedError, match=f"AUTH: {error.decode()}"):
        RespConnection(replace(listener.address, password="secret"), Timeouts())


def test_close_within_value_raises_connection_error(listener: Listener) -> None:
    listener.play(lambda connection: connection.sendall(b"$100\r\nabc"))
    connection = connect(listener)
    with pytest.raises(ConnectionError):
        connection.read_reply()
    connection.close()


def test_silent_server_hits_io_timeout(listener: Listener) -> None:
    listener.play(saying(b"$100\r\nabc"))
    connection = connect(listener, Timeouts(io=0.05, operation=60))
    with pytest.raises(TimeoutError):
        connection.read_reply()
    connection.close()


def test_trickling_server_hits_operation_timeout(listener: Listener) -> None:
    def trickle(connection: socket.socket) -> None:
        connection.sendall(b"$100000\r\n")
        while True:
            connection.sendall(b"x")
            time.sleep(0.001)

    listener.play(trickle)
    connection = connect(listener, Timeouts(io=0.02, operation=0.1))
    with pytest.raises(TimeoutError):
        connection.read_reply()
    connection.close()


def test_abort_from_another_thread_ends_pending_read(listener: Listener) -> None:
    listener.play(saying())
    connection = connect(listener, Timeouts(io=60, operation=60))
    aborting = threading.Timer(0.02, connection.abort)
    aborting.start()
    with pytest.raises(ConnectionError):
        connection.read_reply()
    aborting.join()
    connection.close()


def test_command_is_encoded_as_array_of_bulk_strings() -> None:
    assert command(b"GET", b"k\r\n") == b"*2\r\n$3\r\nGET\r\n$3\r\nk\r\n\r\n"


def test_line_end_split_across_pieces_is_read(listener: Listener) -> None:
    listener.play(saying(b"$3\r\nabc", b"\r", b"\n:7\r\n$-1", b"\r\n"))
    connection = connect(listener)
    assert connection.read_reply() == b"abc"
    assert connection.read_reply() == 7
    assert connection.read_reply() is None
    connection.close()
