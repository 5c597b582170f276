"""What a load asks for, and when: a server that tells what it was asked before it answers."""

import socket
import threading
from collections.abc import Callable

import pytest

from cache_tiers.link_speed import LinkMeter, LinkSpeed
from cache_tiers.redis.address import RedisAddress
from cache_tiers.redis.block_commands import Block, load_blocks
from cache_tiers.redis.resp import RespConnection, Timeouts
from cache_tiers.redis.value import FINGERPRINT_BYTES, BlockSeal

NBYTES = 1 << 20
SEAL = BlockSeal(b"secret", bytes(FINGERPRINT_BYTES))


class KnownSpeed(LinkMeter):
    """Of a link that was measured before."""

    def __init__(self, speed: LinkSpeed) -> None:
        super().__init__()
        self._known = speed

    @property
    def speed(self) -> LinkSpeed:
        return self._known


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
def test_a_link_is_kept_busy_with_no_more_than_it_needs(speed: LinkSpeed, ahead: int | None) -> None:
    assert speed.messages_under_way(NBYTES) == ahead


@pytest.mark.parametrize(
    ("speed", "ahead"), [(LinkSpeed(), 8), (LinkSpeed(0.0005, 4e9), 3), (LinkSpeed(0.5, 100e6), 8)]
)
def test_a_load_asks_ahead_as_far_as_the_link_needs_and_gets_every_block(
    speed: LinkSpeed, ahead: int, redis_of: Callable[[Callable[[socket.socket], None]], RespConnection]
) -> None:
    blocks = [Block(bytes([number]) * 32, memoryview(bytearray(NBYTES))) for number in range(8)]
    payloads = [bytes([number]) * NBYTES for number in range(8)]
    asked_before_answer: list[int] = []

    def serve(connection: socket.socket) -> None:
        heard = b""
        for number, payload in enumerate(payloads):
            # All that will come without another answer has come when this many are here.
            while heard.count(b"GETEX") < min(ahead + number, len(payloads)):
                heard += connection.recv(1 << 16)
            asked_before_answer.append(heard.count(b"GETEX"))
            value = SEAL.header(blocks[number].key, memoryview(payload)) + payload
            connection.sendall(b"$%d\r\n" % len(value) + value + b"\r\n")

    connection = redis_of(serve)
    waiting = iter(blocks)
    outcomes = load_blocks(connection, lambda: next(waiting, None), SEAL, 60, KnownSpeed(speed), getex=True)
    assert list(outcomes) == [True] * 8
    assert asked_before_answer[0] == ahead
    assert [bytes(block.payload) for block in blocks] == payloads


@pytest.fixture
def redis_of(request: pytest.FixtureRequest) -> Callable[[Callable[[socket.socket], None]], RespConnection]:
    """A connection to a server that does what a test says."""

    def connect(serve: Callable[[socket.socket], None]) -> RespConnection:
        listener = socket.create_server(("127.0.0.1", 0))

        def run() -> None:
            with listener, listener.accept()[0] as connection:
                serve(connection)

        thread = threading.Thread(target=run)
        thread.start()
        connection = RespConnection(RedisAddress(port=listener.getsockname()[1]), Timeouts())
        request.addfinalizer(thread.join)
        request.addfinalizer(connection.close)
        return connection

    return connect
