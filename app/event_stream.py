"""The response that carries server-sent events.

Tokens pass here one by one for every stream, so each costs no timer, and, where the stream writes it directly, not even
one `send`: a single clock per connection sends the pings and finds readers that do not read.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from app.direct_writer import DirectWriter, direct_writer

PING_SECONDS = 15.0
PINGS_TO_A_FROZEN_READER = 2
PING_FRAME = b": ping\n\n"

Frames = Callable[[DirectWriter | None], AsyncGenerator[bytes, None]]
"""Makes the frames of a stream. What it is given it may write to while it waits for what to yield next."""


class EventStream(Response):
    """A stream of ready frames (see `app.sse`). `on_close` runs exactly once however it ends, also if it never began.

    (A generator that was never entered runs no `finally`, so that would not be enough.)
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
        """ping_seconds: between the comments that keep proxies from closing a silent connection."""
        self.status_code = 200
        self.background = None
        self.init_headers({"Cache-Control": "no-cache", "X-Accel-Buffering": "no", **headers})
        self._frames = frames
        self._on_close = on_close
        self._ping_seconds = ping_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the frames until they end, the client goes, or does not read for PINGS_TO_A_FROZEN_READER pings."""
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
    """Pings the client of the task that makes it, and cancels that task when the client has left or does not read.

    is_sending: whether the task waits for the connection to take something. Only one that takes bytes gets pings.
    sends: how often it began to.
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
        """Nobody reads any more."""
        if not self._given_up:
            self._given_up = True
            self._task.cancel()

    def took_back_its_cancelling(self) -> bool:
        """Whether nobody else cancelled the task."""
        return self._given_up and self._task.uncancel() == 0

    def stop(self) -> None:
        """The answer has ended."""
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
