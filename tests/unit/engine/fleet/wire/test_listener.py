"""The door of a replica: strangers are refused, and the gateway comes in after them."""

import asyncio
import socket

import pytest
import uvloop

from engine.fleet.wire.listener import DoorListener
from engine.fleet.wire.tls import Identity

REPLICA, GATEWAY, STRANGER = Identity.new(), Identity.new(), Identity.new()


class Guest(asyncio.Protocol):
    """Protocol that notes its calls."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.heard = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.calls.append("made")

    def data_received(self, data: bytes) -> None:
        self.calls.append(data.decode())
        self.heard.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.calls.append("lost")


async def visit(own: Identity, host: str, port: int, certificate: bytes) -> bytes:
    """Connect, and return what the other end sends until it hangs up."""
    context = own.connecting(certificate)
    reader, writer = await asyncio.open_connection(host, port, ssl=context)
    try:
        return await reader.read()
    except OSError:
        return b""
    finally:
        writer.transport.abort()


async def play() -> list[str]:
    """Let two strangers and then the gateway come, and return the calls of the replica's protocol."""
    listener = DoorListener("127.0.0.1")
    door, guest = listener.door(REPLICA.certificate), Guest()
    admitted = asyncio.create_task(listener.admit(REPLICA.accepting(GATEWAY.certificate), lambda: guest))
    with socket.create_connection((door.host, door.port)) as plain:
        plain.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert await visit(STRANGER, door.host, door.port, door.certificate) == b""
    assert guest.calls == []
    _, gateway = await asyncio.open_connection(door.host, door.port, ssl=GATEWAY.connecting(door.certificate))
    gateway.write(b"hello")
    await admitted
    await guest.heard.wait()
    with pytest.raises(OSError, match=r"refused|Connect call failed"):
        await asyncio.open_connection(door.host, door.port)
    gateway.transport.abort()
    return guest.calls


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def test_only_the_gateway_comes_in(loop: type[asyncio.AbstractEventLoop]) -> None:
    with asyncio.Runner(loop_factory=loop) as runner:
        assert runner.run(play()) == ["made", "hello"]
