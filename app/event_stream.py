"""The response that carries server-sent events.

Tokens pass here one by one for every stream, so each costs one `send` and no timer: a single clock per connection sends
the pings and finds readers that do not read.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

PING_SECONDS = 15.0
PINGS_TO_A_FROZEN_READER = 2
PING_FRAME = b": ping\n\n"


class EventStream(Response):
    """A stream of ready frames (see `app.sse`). `on_close` runs exactly once however it ends, also if it never began.

    (A generator that was never entered runs no `finally`, so that would not be enough.)
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        frames: AsyncGenerator[bytes, None],
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
        self._frames_sent = 0
        self._sending = True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """Send the frames until they end, the client goes, or does not read for PINGS_TO_A_FROZEN_READER pings."""
        sending = asyncio.ensure_future(self._send_frames(send))
        leaving = asyncio.ensure_future(_client_left(receive))
        try:
            await self._watch(sending, leaving, send)
            if sending.done():
                await sending
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            sending.cancel()
            leaving.cancel()
            await asyncio.wait((sending, leaving))
            if self._on_close is not None:
                self._on_close()

    async def _send_frames(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        self._sending = False
        async with aclosing(self._frames) as frames:
            async for frame in frames:
                self._sending = True
                await send({"type": "http.response.body", "body": frame, "more_body": True})
                self._sending = False
                self._frames_sent += 1

    async def _watch(self, sending: asyncio.Future[None], leaving: asyncio.Future[None], send: Send) -> None:
        """Until frames end or the client leaves or is frozen. Only a connection that takes bytes gets pings."""
        seen, frozen = 0, 0
        while True:
            done, _ = await asyncio.wait(
                (sending, leaving), timeout=self._ping_seconds, return_when=asyncio.FIRST_COMPLETED
            )
            if done:
                return
            frozen = frozen + 1 if self._sending and seen == self._frames_sent else 0
            seen = self._frames_sent
            if frozen == PINGS_TO_A_FROZEN_READER:
                return
            if not self._sending and not await self._ping(send):
                return

    async def _ping(self, send: Send) -> bool:
        """Whether the connection took it."""
        try:
            async with asyncio.timeout(self._ping_seconds):
                await send({"type": "http.response.body", "body": PING_FRAME, "more_body": True})
        except TimeoutError:
            return False
        return True


async def _client_left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
