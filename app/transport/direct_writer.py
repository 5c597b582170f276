"""Direct writes of a streamed answer, in the step that produces the text.

This is an ASGI extension that `app.transport.protocol` offers. Waking the sending task for every token, and passing the
frame through each layer's `send`, costs more than all other work on the token. A stream that waits for output may
therefore write it to the connection itself. Frames that the connection cannot take at once are sent the usual way.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

from starlette.types import Scope

from app.transport.uvicorn_parts import RequestResponseCycle

EXTENSION = "ebb.direct_writer"
"""Key of the extension in the scope's `extensions`."""


class DirectWriter(Protocol):
    """Writer of one answer's body.

    Use it only while no `send` of the answer is pending, or pieces would be reordered.

    filler: a piece without meaning that may follow any other, written to probe whether the client is connected; b"" for
        none.
    """

    filler: bytes

    @property
    def ready(self) -> bool:
        """Whether the connection takes a piece now: the head was sent, and the client is reading."""

    def write(self, piece: bytes) -> None:
        """Write a piece of the body, as `send` would. Requires `ready`."""

    def abort(self) -> None:
        """Abort the connection, leaving the answer unfinished."""


def direct_writer(scope: Scope) -> DirectWriter | None:
    """Return the request's direct writer; None on servers without the extension."""
    writer: DirectWriter | None = scope.get("extensions", {}).get(EXTENSION)
    return writer


class ChunkWriter:
    """`DirectWriter` of an answer in chunked transfer encoding, and `ClientPresence` of its client."""

    __slots__ = ("_cycle", "filler")

    def __init__(self, cycle: RequestResponseCycle) -> None:
        self._cycle = cycle
        self.filler = b""

    @property
    def ready(self) -> bool:
        """Whether a piece can be written at once."""
        cycle = self._cycle
        is_open = cycle.chunked_encoding and not (cycle.response_complete or cycle.disconnected)
        return bool(is_open) and not cycle.flow.write_paused

    @property
    def has_left(self) -> bool:
        """Whether the client is gone."""
        return self._cycle.disconnected

    def write(self, piece: bytes) -> None:
        """Write a piece as a chunk."""
        self._cycle.transport.write(b"%x\r\n%b\r\n" % (len(piece), piece))

    def abort(self) -> None:
        """Cut the connection."""
        # Set first, so that uvicorn does not blame the application for the unfinished answer.
        self._cycle.disconnected = True
        self._cycle.transport.abort()


class TransportOfAnswer:
    """The transport, except that `close` ends the connection gently."""

    def __init__(self, transport: asyncio.Transport, end: Callable[[], None]) -> None:
        self._transport = transport
        self.write = transport.write
        self.close = end

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
