"""Requests that a load sends, and their timing, recorded by a server before it answers."""

import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from cache_tiers.lower.link_speed import LinkMeter, LinkSpeed
from cache_tiers.lower.sealed_value import FINGERPRINT_BYTES, BlockSeal, Reject
from cache_tiers.lower.tier import Block
from cache_tiers.redis.block_commands import load_blocks, redis_key
from cache_tiers.redis.block_format import BlockFormat, num_values
from cache_tiers.redis.jobs import LoadJob
from cache_tiers.redis.load_line import Load, LoadLine
from cache_tiers.redis.resp import RespConnection, Timeouts
from tests.listener import Listener, Script

NBYTES = 1 << 20
SEAL = BlockSeal(b"secret", bytes(FINGERPRINT_BYTES))

pytest_plugins = ["tests.listener_fixtures"]


class KnownSpeed(LinkMeter):
    """The meter of a link that was measured before."""

    def __init__(self, speed: LinkSpeed) -> None:
        super().__init__()
        self._known = speed

    @property
    def speed(self) -> LinkSpeed:
        return self._known


@contextmanager
def connected(listener: Listener, script: Script) -> Iterator[RespConnection]:
    listener.play(script)
    with closing(RespConnection(listener.address, Timeouts())) as connection:
        yield connection


def give(connection: socket.socket, key: bytes, payload: bytes) -> None:
    """Answer a GETEX with a stored block."""
    value = SEAL.header(key, memoryview(payload)) + payload
    connection.sendall(b"$%d\r\n" % len(value) + value + b"\r\n")


@pytest.mark.parametrize(("block_mib", "values"), [(1, 1), (2, 1), (2.1, 2), (8.5, 5)])
def test_large_block_is_split_into_several_values(block_mib: float, values: int) -> None:
    nbytes = int(block_mib * (1 << 20))
    assert num_values(nbytes) == values
    layout = BlockFormat(SEAL, 60, values)
    payload = memoryview(bytearray(nbytes))
    assert len(set(layout.value_keys(bytes(32)))) == values
    parts = layout.payloads(payload)
    assert sum(part.nbytes for part in parts) == nbytes
    assert max(part.nbytes for part in parts) <= 2 << 20


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
def test_load_asks_ahead_as_far_as_link_needs(speed: LinkSpeed, ahead: int, listener: Listener) -> None:
    blocks = [Block(bytes([number]) * 32, memoryview(bytearray(NBYTES))) for number in range(8)]
    payloads = [bytes([number]) * NBYTES for number in range(8)]
    asked_before_answer: list[int] = []

    def serve(connection: socket.socket) -> None:
        heard = b""
        for number, payload in enumerate(payloads):
            # The client sends no more requests than these before the next answer.
            while heard.count(b"GETEX") < min(ahead + number, len(payloads)):
                heard += connection.recv(1 << 16)
            asked_before_answer.append(heard.count(b"GETEX"))
            give(connection, blocks[number].key, payload)

    waiting = iter(blocks)
    layout, meter = BlockFormat(SEAL, 60), KnownSpeed(speed)
    with connected(listener, serve) as connection:
        outcomes = load_blocks(connection, lambda: next(waiting, None), layout, meter, getex=True)
        assert list(outcomes) == [True] * 8
    assert asked_before_answer[0] == ahead
    assert [bytes(block.payload) for block in blocks] == payloads


def answering(payloads: dict[bytes, bytes]) -> Script:
    """Return the script of a server that sends these payloads in order, each once its key is requested."""

    def serve(connection: socket.socket) -> None:
        heard = b""
        for key, payload in payloads.items():
            while redis_key(key) not in heard:
                heard += connection.recv(1 << 16)
            give(connection, key, payload)

    return serve


def test_queued_loads_are_reported_once_and_in_order(listener: Listener) -> None:
    payloads = {bytes([number]) * 32: bytes([number]) * NBYTES for number in range(4)}
    reported: list[list[Reject | bool]] = []
    blocks = [Block(key, memoryview(bytearray(NBYTES))) for key in payloads]
    line = LoadLine()
    assert line.add(Load(blocks[:1], reported.append))
    assert not line.add(Load(blocks[1:], reported.append))
    job = LoadJob(line, BlockFormat(SEAL, 60), KnownSpeed(LinkSpeed(0.0005, 4e9)))
    with connected(listener, answering(payloads)) as connection:
        job.run(connection, getex=True)
    job.finish()
    assert reported == [[True], [True] * 3]
    assert [bytes(block.payload) for block in blocks] == list(payloads.values())


def test_finished_job_takes_no_later_load(listener: Listener) -> None:
    key, payload = bytes(32), bytes(NBYTES)
    reported: list[list[Reject | bool]] = []
    line = LoadLine()
    line.add(Load([Block(key, memoryview(bytearray(NBYTES)))], reported.append))
    job = LoadJob(line, BlockFormat(SEAL, 60), LinkMeter())
    with connected(listener, answering({key: payload})) as connection:
        job.run(connection, getex=True)
    assert line.add(Load([Block(key, memoryview(bytearray(NBYTES)))], reported.append)), "a new job must start"
    job.finish()
    assert reported == [[True]]


def test_broken_connection_ends_all_queued_loads(listener: Listener) -> None:
    reported: list[list[Reject | bool]] = []
    line = LoadLine()
    for number in range(3):
        line.add(Load([Block(bytes([number]) * 32, memoryview(bytearray(NBYTES)))], reported.append))

    def serve(connection: socket.socket) -> None:
        heard = b""
        while heard.count(b"GETEX") < 3:
            heard += connection.recv(1 << 16)
        give(connection, bytes(32), bytes(NBYTES))

    job = LoadJob(line, BlockFormat(SEAL, 60), LinkMeter())
    with connected(listener, serve) as connection, pytest.raises(ConnectionError):
        job.run(connection, getex=True)
    job.finish()
    assert reported == [[True], [], []]
    assert line.add(Load([], reported.append)), "no job may be left on the line"


def test_defect_in_one_callback_keeps_no_load_from_its_result(listener: Listener) -> None:
    payloads = {bytes([number]) * 32: bytes([number]) * NBYTES for number in range(3)}
    reported: list[list[Reject | bool]] = []

    def fail(_outcomes: list[Reject | bool]) -> None:
        raise RuntimeError("a defect")

    line = LoadLine()
    for at, key in enumerate(payloads):
        line.add(Load([Block(key, memoryview(bytearray(NBYTES)))], fail if at == 0 else reported.append))
    line.add(Load([Block(bytes(32), memoryview(bytearray(NBYTES)))], fail))
    line.add(Load([], reported.append))
    job = LoadJob(line, BlockFormat(SEAL, 60), KnownSpeed(LinkSpeed(0.0005, 4e9)))
    with connected(listener, answering(payloads)) as connection, pytest.raises(ConnectionError):
        job.run(connection, getex=True)
    job.finish()
    assert reported == [[True], [True], []]
