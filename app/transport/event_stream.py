"""Response that streams frames, on sse-starlette: server-sent events, unless another framing is given.

The library makes the headers, answers HEAD, times the pings, watches for a client that leaves, and limits the time of a
send. The loop that sends and the task group around it are replaced:

- In the library's loop each frame has a cancel scope and a timer. Here a frame has them only if the connection cannot
  take it at once, because every token of every stream may pass through the loop.
- The library's four tasks in anyio's group take more memory than the two plain tasks here. The others are the loop,
  which runs in the task of the request, and the wait for the server's exit, at which `app.transport.protocol` aborts
  streams without a task for each.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from typing import Final

from starlette.types import Receive, Scope, Send

from app.http.request_access import access_refusal
from app.transport.direct_writer import DirectWriter, direct_writer
from app.transport.frames import EVENTS, Framing
from app.transport.sse_parts import LibraryStream, SendTimeoutError, ServerSentEvent
from engine.api.errors import EbbError

SILENCE_SECONDS: Final = 40.0
"""Silence after which the page takes a connection for dead (`SILENCE_MS` of the page). Pings come at
least twice as often, so that one may be lost."""
PING_SECONDS: Final = 5.0
PINGS_TO_A_FROZEN_READER: Final = 6

Frames = Callable[[DirectWriter | None], AsyncGenerator[bytes, None]]
"""Makes the frames of a stream. While the generator waits for output, it may write to the given writer."""


class Ping(ServerSentEvent):
    """The framing's filler, in the form in which the library takes a ping."""

    def __init__(self, filler: bytes) -> None:
        super().__init__()
        self._filler = filler

    def encode(self) -> bytes:
        """Return the filler."""
        return self._filler


class EventStream(LibraryStream):
    """A stream of encoded frames (see `app.transport.sse` and `app.transport.frames`).

    `on_close` runs exactly once however the stream ends, even if it never began. A generator's `finally` would not
    suffice: it does not run if the generator was never entered.
    """

    def __init__(
        self,
        frames: Frames,
        *,
        headers: dict[str, str],
        framing: Framing = EVENTS,
        refused: Callable[[EbbError], bytes] | None = None,
        on_close: Callable[[], None] | None = None,
        ping_seconds: float = PING_SECONDS,
    ) -> None:
        """Prepare the response.

        refused: encodes the error that ends the stream of a client whose access to the server has ended; None ends it
            without one, for clients that then ask again.
        ping_seconds: interval of the fillers that keep proxies from closing a silent connection.
        """
        super().__init__(
            iter(()),
            headers={"Cache-Control": "no-cache", **headers},
            media_type=framing.media_type,
            ping=ping_seconds,
            ping_message_factory=lambda: Ping(framing.filler),
            send_timeout=PINGS_TO_A_FROZEN_READER * ping_seconds,
        )
        # The server declares whether the connection stays open, and the client may have asked for its end.
        del self.headers["Connection"]
        self.take_plain_lock()
        self._frames = frames
        self._framing = framing
        self._refused = refused
        self._on_close = on_close
        self._writer: DirectWriter | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the frames until they end, or the client leaves or stops reading."""
        self._writer = direct_writer(scope)
        if self._writer is not None:
            self._writer.filler = self._framing.filler
        try:
            if scope["method"] == "HEAD":
                await super().__call__(scope, receive, send)
            else:
                await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
                await self._stream_until_cut(scope, receive, send)
        finally:
            if self._on_close is not None:
                self._on_close()

    async def _stream_until_cut(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stream until the end of the frames. Abort the connection if one of the library's watchers returns first.

        If the client's access to the server ends, the stream ends instead.

        This task is cancelled once, unlike in anyio's scopes, so a generator of frames may await in its cleanup.
        """
        watchers = [
            asyncio.create_task(self.ping_until_stuck(send)),
            asyncio.create_task(self.wait_for_departure(receive)),
        ]
        try:
            async with asyncio.timeout(None) as life:

                def cut(_watcher: object) -> None:
                    # RuntimeError: the stream has ended.
                    with suppress(RuntimeError):
                        life.reschedule(0)

                for watcher in watchers:
                    watcher.add_done_callback(cut)
                await self._send_frames(send)
        except TimeoutError as error:
            # A generator's cleanup may raise its own timeout.
            is_cut = life.expired() and isinstance(error.__cause__, asyncio.CancelledError)
            if not (is_cut or isinstance(error, SendTimeoutError)):
                raise
            refusal = access_refusal(scope)
            if refusal is not None and (self._writer is None or self._writer.ready):
                await self._refuse(send, refusal)
            elif self._writer is not None:
                self._writer.abort()
        finally:
            for watcher in watchers:
                watcher.cancel()

    async def _refuse(self, send: Send, refusal: EbbError) -> None:
        if self._refused is not None:
            await send({"type": "http.response.body", "body": self._refused(refusal), "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send_frames(self, send: Send) -> None:
        """Send the frames and the end. A ping is sent only while neither is pending."""
        async with aclosing(self._frames(self._writer)) as frames:
            async for frame in frames:
                message = {"type": "http.response.body", "body": frame, "more_body": True}
                if self._writer is not None and self._writer.ready:
                    # Returns without waiting, so no ping can come between.
                    await send(message)
                else:
                    await self.send_alone(send, message)
        await self.send_alone(send, {"type": "http.response.body", "body": b"", "more_body": False}, is_last=True)
