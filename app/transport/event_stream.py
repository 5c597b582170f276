"""Response that streams server-sent events.

Every token of every stream passes through here, so a token costs no timer, and no `send` where the stream writes it
directly. One timer per connection sends the pings and detects clients that do not read.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from app.transport.direct_writer import DirectWriter, direct_writer

PING_SECONDS = 15.0
PINGS_TO_A_FROZEN_READER = 2
PING_FRAME = b": ping\n\n"

Frames = Callable[[DirectWriter | None], AsyncGenerator[bytes, None]]
"""Makes the frames of a stream. While the generator waits for output, it may write to the given writer."""


class EventStream(Response):
    """A stream of encoded frames (see `app.transport.sse`).

    `on_close` runs exactly once however the stream ends, even if it never began. A generator's `finally` would not
    suffice: it does not run if the generator was never entered.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        frames: Frames,
        *,
        headers: dict[str, str],
        on_close: Callable[[], None] | None = None,
        ping_seconds: float = PING_SECONDS,
    ) -> None:
        """Prepare the response.

        ping_seconds: interval of the comments that keep proxies from closing a silent connection.
        """
        self.status_code = 200
        self.background = None
        self.init_headers({"Cache-Control": "no-cache", "X-Accel-Buffering": "no", **headers})
        self._frames = frames
        self._on_close = on_close
        self._ping_seconds = ping_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the frames until they end, the client leaves, or it does not read for PINGS_TO_A_FROZEN_READER pings."""
        writer = direct_writer(scope)
        if writer is not None:
            writer.filler = PING_FRAME
        watch = _Watch(send, self._ping_seconds)
        leaving = asyncio.ensure_future(_client_left(receive))
        leaving.add_done_callback(watch.give_up)
        try:
            await self._send_frames(self._frames(writer), send, watch)
        except asyncio.CancelledError:
            if not watch.took_back_its_cancelling():
                raise
            if writer is not None:
                writer.abort()
        finally:
            leaving.remove_done_callback(watch.give_up)
            leaving.cancel()
            watch.stop()
            if self._on_close is not None:
                self._on_close()

    async def _send_frames(self, frames: AsyncGenerator[bytes, None], send: Send, watch: "_Watch") -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        watch.is_sending = False
        async with aclosing(frames):
            async for frame in frames:
                watch.sends += 1
                watch.is_sending = True
                await send({"type": "http.response.body", "body": frame, "more_body": True})
                watch.is_sending = False
        await send({"type": "http.response.body", "body": b"", "more_body": False})


class _Watch:
    """Watch that pings the client of the task that creates it, and cancels the task if the client left or stalls.

    is_sending: whether the task is waiting in `send`. Pings are sent only while it is not.
    sends: number of times the task has called `send` with a frame.
    """

    __slots__ = ("_clock", "_frozen", "_given_up", "_ping_seconds", "_pinging", "_seen", "_send", "_task",
                 "is_sending", "sends")  # fmt: skip

    def __init__(self, send: Send, ping_seconds: float) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.is_sending = True
        self.sends = 0
        self._task = task
        self._send = send
        self._ping_seconds = ping_seconds
        self._pinging: asyncio.Future[None] | None = None
        self._seen = self._frozen = 0
        self._given_up = False
        self._clock = asyncio.get_running_loop().call_later(ping_seconds, self._ring)

    def give_up(self, _: object = None) -> None:
        """Cancel the task: the client has left."""
        if not self._given_up:
            self._given_up = True
            self._task.cancel()

    def took_back_its_cancelling(self) -> bool:
        """Undo this object's own cancellation of the task. Returns False if another party cancelled it too."""
        return self._given_up and self._task.uncancel() == 0

    def stop(self) -> None:
        """Stop the timer once the answer has ended."""
        self._clock.cancel()
        if self._pinging is not None:
            self._pinging.cancel()

    def _ring(self) -> None:
        self._frozen = self._frozen + 1 if self.is_sending and self._seen == self.sends else 0
        self._seen = self.sends
        if self._frozen == PINGS_TO_A_FROZEN_READER or (self._pinging is not None and not self._pinging.done()):
            self.give_up()
            return
        if not self.is_sending:
            self._pinging = asyncio.ensure_future(self._ping())
        self._clock = asyncio.get_running_loop().call_later(self._ping_seconds, self._ring)

    async def _ping(self) -> None:
        await self._send({"type": "http.response.body", "body": PING_FRAME, "more_body": True})


async def _client_left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
