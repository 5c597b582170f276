"""TLS handshake of a connection, before HTTP is spoken on it.

    connection -> TlsDoor, counted as idle -> handshake, at most HEAD_SECONDS -> HttpProtocol in its place

The TLS support of an event loop reports a connection only after its handshake. Connections that never begin one would
be neither counted nor limited.
"""

import asyncio
from typing import Any

from uvicorn.config import Config
from uvicorn.server import ServerState

from app.domain.bounds import HEAD_SECONDS
from app.transport.connections import Connections
from app.transport.protocol import HttpProtocol
from app.transport.tls import TlsContext


class TlsDoor(asyncio.Protocol):
    """Protocol of one connection until the end of its handshake."""

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
        self._connections.on_open(self)
        self._shaking = self._loop.create_task(self._shake(transport), name="tls-handshake")

    def data_received(self, data: bytes) -> None:
        """Buffer data that arrives before the handshake's protocol is in place (asyncio)."""
        self._hello += data

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """Remove a connection that ended before its handshake began (asyncio)."""
        self._forget()

    @property
    def peer(self) -> str | None:
        """Address of the client; None if it has none."""
        name = self._transport.get_extra_info("peername") if self._transport is not None else None
        return name[0] if isinstance(name, tuple) else None

    def cut(self) -> None:
        """Close the connection at once."""
        if self._transport is not None:
            self._transport.abort()

    shutdown = cut
    """Alias of `cut` that uvicorn calls when the server stops."""

    def _forget(self) -> None:
        self._server_state.connections.discard(self)
        self._connections.on_close(self)

    async def _shake(self, transport: asyncio.Transport) -> None:
        early = _Early()
        shaking = self._loop.create_task(
            self._loop.start_tls(
                transport, early, self._tls.context, server_side=True, ssl_handshake_timeout=HEAD_SECONDS
            )
        )
        try:
            # Until that task has run once, the loop passes incoming data to this protocol.
            await asyncio.sleep(0)
            if (handshake := transport.get_protocol()) is not self:
                _feed(handshake, bytes(self._hello))
            secured = await shaking
        # RuntimeError: the transport was closed before its handshake began.
        except (OSError, RuntimeError, TimeoutError, asyncio.CancelledError):
            secured = None
        self._forget()
        # If a connection is cut during its handshake, uvloop still reports success.
        if secured is None or early.is_lost or transport.is_closing():
            transport.abort()
            return
        self._http.connection_made(secured)
        secured.set_protocol(self._http)
        early.hand_over(self._http)


def _feed(reader: Any, data: bytes) -> None:
    """Pass `data` to an asyncio.BufferedProtocol. uvloop's handshake protocol has its methods, but not its type."""
    while data:
        room = memoryview(reader.get_buffer(len(data)))
        size = min(len(room), len(data))
        room[:size] = data[:size]
        reader.buffer_updated(size)
        data = data[size:]


class _Early(asyncio.Protocol):
    """Buffer for data that arrives with the last packet of the handshake, until `HttpProtocol` takes over."""

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
        """Pass the buffered data and end of file to `reader`."""
        if self._data:
            reader.data_received(bytes(self._data))
        if self._is_ended:
            reader.eof_received()
