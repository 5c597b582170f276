"""The handshake of a connection that speaks TLS, before it becomes one of HTTP.

    connection -> TlsDoor, counted as idle -> handshake, at most HEAD_SECONDS -> HttpProtocol in its place

An event loop's own TLS shows a connection after its handshake only, so the ones that never begin one would be neither
counted nor bounded.
"""

import asyncio
from typing import Any

from uvicorn.config import Config
from uvicorn.server import ServerState

from app.connections import Connections
from app.http_protocol import HttpProtocol
from app.limits import HEAD_SECONDS
from app.tls import TlsContext


class TlsDoor(asyncio.Protocol):
    """One connection until its handshake has ended."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        connections: Connections,
        tls: TlsContext,
    ) -> None:
        self._loop = _loop or asyncio.get_running_loop()
        self._server_state = server_state
        self._connections = connections
        self._tls = tls
        self._http = HttpProtocol(config, server_state, app_state, _loop, connections=connections)
        self._transport: asyncio.Transport | None = None
        self._shaking: asyncio.Task[None] | None = None
        self._hello = bytearray()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin the handshake (asyncio)."""
        self._transport = transport
        self._server_state.connections.add(self)  # type: ignore[arg-type]
        self._connections.opened(self)
        self._shaking = self._loop.create_task(self._shake(transport), name="tls-handshake")

    def data_received(self, data: bytes) -> None:
        """Keep bytes that come before the handshake's own protocol reads (asyncio)."""
        self._hello += data

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """Forget the connection, which ended before its handshake began (asyncio)."""
        self._forget()

    @property
    def peer(self) -> str | None:
        """Address of the other end; None if it has none."""
        name = self._transport.get_extra_info("peername") if self._transport is not None else None
        return name[0] if isinstance(name, tuple) else None

    def cut(self) -> None:
        """Close the connection at once."""
        if self._transport is not None:
            self._transport.abort()

    shutdown = cut
    """uvicorn: the server stops."""

    def _forget(self) -> None:
        self._server_state.connections.discard(self)
        self._connections.closed(self)

    async def _shake(self, transport: asyncio.Transport) -> None:
        early = _Early()
        shaking = self._loop.create_task(
            self._loop.start_tls(
                transport, early, self._tls.context, server_side=True, ssl_handshake_timeout=HEAD_SECONDS
            )
        )
        try:
            # Until that task has run once, the loop gives what it reads to this protocol.
            await asyncio.sleep(0)
            if (handshake := transport.get_protocol()) is not self:
                _feed(handshake, bytes(self._hello))
            secured = await shaking
        # RuntimeError: the transport was closed before its handshake began.
        except (OSError, RuntimeError, TimeoutError, asyncio.CancelledError):
            secured = None
        self._forget()
        # uvloop ends a handshake whose connection was cut as if it had succeeded.
        if secured is None or early.is_lost or transport.is_closing():
            transport.abort()
            return
        self._http.connection_made(secured)
        secured.set_protocol(self._http)
        early.hand_over(self._http)


def _feed(reader: Any, data: bytes) -> None:
    """Give `data` to an asyncio.BufferedProtocol, which uvloop's protocol of a handshake is by its methods alone."""
    while data:
        room = memoryview(reader.get_buffer(len(data)))
        size = min(len(room), len(data))
        room[:size] = data[:size]
        reader.buffer_updated(size)
        data = data[size:]


class _Early(asyncio.Protocol):
    """Keeper of what comes in the packet of the handshake's end, until its reader has the connection."""

    def __init__(self) -> None:
        self.is_lost = False
        self._data = bytearray()
        self._is_ended = False

    def data_received(self, data: bytes) -> None:
        self._data += data

    def eof_received(self) -> None:
        self._is_ended = True

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self.is_lost = True

    def hand_over(self, reader: asyncio.Protocol) -> None:
        """Give `reader` all that came."""
        if self._data:
            reader.data_received(bytes(self._data))
        if self._is_ended:
            reader.eof_received()
