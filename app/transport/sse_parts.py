"""The parts of sse-starlette that it does not promise to keep, under names of our own.

`tests/contract/test_private_parts.py` names each of them, and fails if another version lacks one.
"""

import asyncio
from contextlib import suppress

from sse_starlette import EventSourceResponse, ServerSentEvent
from sse_starlette.sse import SendTimeoutError
from starlette.types import Message, Receive, Send

__all__ = ["LibraryStream", "SendTimeoutError", "ServerSentEvent"]


class LibraryStream(EventSourceResponse):
    """The library's response, without its loop."""

    def take_plain_lock(self) -> None:
        """Replace the lock of sends by one without memory for waiters and passes of the loop until a task waits."""
        self._send_lock = asyncio.Lock()  # type: ignore[assignment]

    async def ping_until_stuck(self, send: Send) -> None:
        """Send pings until the client does not take one in time."""
        with suppress(SendTimeoutError):
            await self._ping(send)

    async def wait_for_departure(self, receive: Receive) -> None:
        """Return when the client has left."""
        await self._listen_for_disconnect(receive)

    async def send_alone(self, send: Send, message: Message, *, is_last: bool = False) -> None:
        """Send a message while no ping is sent, and after the last one no more. Raise SendTimeoutError."""
        async with self._send_lock:
            if is_last:
                self.active = False
            await self._send_with_timeout(send, message)
