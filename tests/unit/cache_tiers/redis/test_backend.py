"""Requests that reads send, and their timing, recorded by a server before it answers; and the words of faults."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from cache_tiers.lower.backend import Refusal, Value
from cache_tiers.lower.block import Block
from cache_tiers.lower.block_values import BlockValues
from cache_tiers.lower.link_speed import LinkMeter, LinkSpeed
from cache_tiers.lower.sealed_value import HEADER_BYTES
from cache_tiers.redis.address import RedisAddress
from cache_tiers.redis.backend import RedisBackend, RedisSession
from cache_tiers.redis.errors import RedisProtocolError, RedisRefusedError
from tests.listener import Listener, Script
from tests.store_rig import CLIENT, SEAL

NBYTES = 1 << 20

pytest_plugins = ["tests.listener_fixtures"]


class KnownSpeed(LinkMeter):
    """The meter of a link that was measured before."""

    def __init__(self, speed: LinkSpeed) -> None:
        super().__init__()
        self._known = speed

    @property
    def speed(self) -> LinkSpeed:
        return self._known


def hear(connection: socket.socket, heard: bytes, verb: bytes, count: int) -> bytes:
    """Receive until `verb` was requested `count` times."""
    while heard.count(verb) < count:
        heard += connection.recv(1 << 16)
    return heard


@contextmanager
def connected(listener: Listener, script: Script, meter: LinkMeter) -> Iterator[RedisSession]:
    """Connect to a server that has what reads need, and then plays `script`."""

    def serve(connection: socket.socket) -> None:
        hear(connection, b"", b"$3\r\nGET\r\n", 1)
        connection.sendall(b":0\r\n$-1\r\n$-1\r\n")
        script(connection)

    listener.play(serve)
    session = RedisBackend(listener.address).connect(meter, CLIENT)
    try:
        session.prepare()
        yield session
    finally:
        session.close()


@pytest.mark.parametrize(
    ("speed", "ahead"),
    [
        (LinkSpeed(), None),
        (LinkSpeed(0.001, None), None),
        (LinkSpeed(0.0, 1e9), 1),
        (LinkSpeed(0.0005, 4e9), 3),
        (LinkSpeed(0.5, 100e6), 49),
    ],
)
def test_messages_under_way_just_keep_the_link_busy(speed: LinkSpeed, ahead: int | None) -> None:
    assert speed.messages_under_way(NBYTES) == ahead


@pytest.mark.parametrize(
    ("speed", "ahead"), [(LinkSpeed(), 8), (LinkSpeed(0.0005, 4e9), 3), (LinkSpeed(0.5, 100e6), 8)]
)
def test_read_asks_ahead_as_far_as_link_needs(speed: LinkSpeed, ahead: int, listener: Listener) -> None:
    values = [Value(bytes([n]) * 32, bytearray(HEADER_BYTES), memoryview(bytearray(NBYTES))) for n in range(8)]
    stored = [bytes([number]) * (HEADER_BYTES + NBYTES) for number in range(8)]
    asked_before_answer: list[int] = []

    def serve(connection: socket.socket) -> None:
        heard = b""
        for number, value in enumerate(stored):
            # The client sends no more requests than these before the next answer.
            heard = hear(connection, heard, b"GETEX", min(ahead + number, len(stored)))
            asked_before_answer.append(heard.count(b"GETEX"))
            connection.sendall(b"$%d\r\n" % len(value) + value + b"\r\n")

    with connected(listener, serve, KnownSpeed(speed)) as session:
        assert list(session.read(iter(values))) == [HEADER_BYTES + NBYTES] * 8
    assert asked_before_answer[0] == ahead
    assert [bytes(value.header) + bytes(value.payload) for value in values] == stored


def test_value_of_another_length_leaves_payload_and_order(listener: Listener) -> None:
    values = [Value(bytes([n]) * 32, bytearray(HEADER_BYTES), memoryview(bytearray(8))) for n in range(4)]
    whole = HEADER_BYTES + 8
    answers = [b"abc", None, b"x" * 200, b"y" * whole]

    def serve(connection: socket.socket) -> None:
        hear(connection, b"", b"GETEX", 4)
        for answer in answers:
            connection.sendall(b"$-1\r\n" if answer is None else b"$%d\r\n%s\r\n" % (len(answer), answer))

    with connected(listener, serve, LinkMeter()) as session:
        assert list(session.read(iter(values))) == [3, None, 200, whole]
    assert [bytes(value.payload) for value in values] == [bytes(8), bytes(8), bytes(8), b"y" * 8]
    assert values[0].header[:4] == b"abc\0"
    assert values[2].header == b"x" * HEADER_BYTES


def test_last_value_is_sent_once_the_others_are_stored(listener: Listener) -> None:
    values = BlockValues(SEAL, 24, 8)
    heard = b""

    def serve(connection: socket.socket) -> None:
        nonlocal heard
        heard = hear(connection, b"", b"SET", 2)
        connection.sendall(b"-OOM full\r\n+OK\r\n")
        while received := connection.recv(1 << 16):
            heard += received

    with connected(listener, serve, LinkMeter()) as session:
        refusal = session.write(values.sealed(Block(b"k" * 32, memoryview(bytes(24)))))
    assert refusal == Refusal("SET: OOM full")
    listener.close()
    assert heard.count(b"SET") == 2


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (RedisRefusedError("EXISTS: NOAUTH"), "Redis refuses EXISTS: NOAUTH"),
        (RedisProtocolError("a reply line does not end"), "Redis sent an invalid reply: a reply line does not end"),
        (TimeoutError("no reply"), "Redis does not answer in time"),
        (ConnectionRefusedError(111, "Connection refused"), "nothing is listening at the Redis address"),
        (OSError(113, "No route to host"), "Redis cannot be reached: No route to host"),
    ],
)
def test_fault_is_described_by_its_kind(error: OSError | RedisRefusedError | RedisProtocolError, words: str) -> None:
    assert RedisBackend(RedisAddress(host="here")).describe_fault(error) == words
