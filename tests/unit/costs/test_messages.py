"""Messages of HTTP on a connection, before there is a request: heads, chunks and pieces."""

import asyncio
from collections.abc import Callable
from typing import Any, Final

from starlette.types import Receive, Scope, Send
from uvicorn.config import Config
from uvicorn.server import ServerState

from app.transport.connections import ConnectionLimits, Connections
from app.transport.protocol import HttpProtocol
from tests.cost_rows import MOST_GROWTH, CostRow, for_each, growth
from tests.sizes import Size

READ_BYTES: Final = 256 << 10
"""Bytes that the event loop reads at once."""

HEAD: Final = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"

OFFER: Final = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"


class Discarding(asyncio.Transport):
    """A transport whose client reads nothing and is never closed."""

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("127.0.0.1", 1) if name in ("peername", "sockname") else default

    def is_closing(self) -> bool:
        return False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        pass

    def close(self) -> None:
        pass

    def abort(self) -> None:
        pass

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def get_write_buffer_size(self) -> int:
        return 0


async def ignore(_scope: Scope, _receive: Receive, _send: Send) -> None:
    pass


def received(read_bytes: int = READ_BYTES) -> Callable[[bytes], None]:
    """Return a reader of what a client sends, as a connection reads it from the event loop."""

    async def receive(data: bytes) -> None:
        config = Config(ignore, ws="none", lifespan="off", log_config=None)
        config.load()
        connections = Connections(ConnectionLimits(10, 10))
        protocol = HttpProtocol(config, ServerState(), {}, connections=connections)
        protocol.connection_made(Discarding())
        for at in range(0, len(data), read_bytes):
            protocol.data_received(data[at : at + read_bytes])
        protocol.connection_lost(None)

    return lambda data: asyncio.run(receive(data))


ROWS: Final = (
    CostRow("chunks of a body", lambda size: HEAD + b"1\r\na\r\n" * size, received(), 1_000, 50_000),
    CostRow("chunks with extensions", lambda size: HEAD + b"1;a=b\r\na\r\n" * size, received(), 1_000, 50_000),
    CostRow("length of a chunk", lambda size: HEAD + b"0" * size, received(), 4_000, 250_000),
    CostRow("trailers", lambda size: HEAD + b"0\r\n" + b"a: b\r\n" * size, received(), 1_000, 50_000),
    CostRow("headers", lambda size: b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * size, received(), 1_000, 50_000),
    CostRow("long header", lambda size: b"GET / HTTP/1.1\r\na: " + b"b" * size, received(), 4_000, 250_000),
    CostRow("head in pieces", lambda size: b"GET / HTTP/1.1\r\na: " + b"b" * size, received(1), 1_000, 10_000),
    CostRow("body in pieces", lambda size: HEAD + b"1\r\na\r\n" * size, received(1), 250, 10_000),
    CostRow("offers of another protocol", lambda size: OFFER * size, received(), 250, 10_000),
    CostRow("offers in pieces", lambda size: OFFER * size, received(1), 20, 1_000),
    CostRow("offer with a long header", lambda size: OFFER[:-2] + b"a: " + b"b" * size, received(), 4_000, 250_000),
    CostRow("line ends before a request", lambda size: b"\r\n" * size, received(), 4_000, 250_000),
    CostRow("long address", lambda size: b"GET /" + b"%41" * size, received(), 2_000, 100_000),
)


@for_each(ROWS)
def test_cost_grows_in_proportion_to_input(row: CostRow, size: Size) -> None:
    assert growth(row, size.pick(small=row.size, full=row.full)) <= MOST_GROWTH
