"""Frames over one socket: 4 bytes of length, little-endian, then the frame."""

import asyncio
import logging
from collections.abc import Callable
from typing import Final, cast

LENGTH_BYTES: Final = 4

MAX_FRAME: Final = 1 << 28
"""Bytes of a frame from a peer that has proved itself. A call may carry many long prompts."""

MAX_UNPROVEN: Final = 1 << 10
"""Bytes of a frame from a peer that has not."""

logger = logging.getLogger(__name__)


class FrameConnection(asyncio.Protocol):
    """One end of a connection. Every method belongs to the event loop's thread.

    max_frame: bytes above which a frame closes the connection.
    """

    def __init__(
        self,
        on_frame: Callable[[bytes], None],
        on_close: Callable[[], None],
        on_open: Callable[[], None] = lambda: None,
    ) -> None:
        """Create the protocol of a socket.

        on_frame: called with each frame. An exception closes the connection.
        on_close: called once, when the connection is closed.
        on_open: called once, when the connection is open.
        """
        self.max_frame = MAX_UNPROVEN
        self._on_frame = on_frame
        self._on_close = on_close
        self._on_open = on_open
        self._transport: asyncio.Transport | None = None
        self._unread = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast("asyncio.Transport", transport)
        self._on_open()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """Report the end of the connection."""
        self._transport = None
        self._on_close()

    def data_received(self, data: bytes) -> None:
        """Pass on every frame that is complete."""
        self._unread += data
        start = 0
        try:
            while self._transport is not None and (end := self._end_of_frame(start)) is not None:
                frame = bytes(self._unread[start + LENGTH_BYTES : end])
                start = end
                self._on_frame(frame)
        except Exception:
            logger.exception("a frame of a replica's connection could not be processed; the connection is closed")
            self.abort()
        del self._unread[:start]

    def _end_of_frame(self, start: int) -> int | None:
        """Return the end of the frame that begins at `start`; None if it is not complete. Raise ValueError."""
        first = start + LENGTH_BYTES
        if len(self._unread) < first:
            return None
        size = int.from_bytes(self._unread[start:first], "little")
        if size > self.max_frame:
            raise ValueError(f"a frame of {size} bytes is longer than {self.max_frame}")
        return first + size if len(self._unread) >= first + size else None

    def send(self, frame: bytes) -> None:
        """Send a frame without waiting. Do nothing once the connection is closed."""
        if self._transport is not None:
            self._transport.write(len(frame).to_bytes(LENGTH_BYTES, "little") + frame)

    def close(self) -> None:
        """Close the connection once everything is sent."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Close the connection at once, without sending what is buffered. No further frame is passed on."""
        transport, self._transport = self._transport, None
        if transport is not None:
            transport.abort()
