"""Access of a request to the server, which may end while the request is in progress: a key is revoked, a login ends.

The application then receives the departure of the client. A response that has not begun is replaced by the reason. A
stream that has begun ends, with the reason where its format has a place for one.
"""

import asyncio
from typing import Final

from starlette.types import Message, Receive, Scope

from engine.api.errors import EbbError

STATE: Final = "access"
"""Key in the scope's state."""


class RequestAccess:
    """Access of one request.

    refusal: the error that a request like this one would get now; None while the request may be answered.
    is_reported: whether the application was notified. A request that needs its client no more is answered regardless.
    """

    __slots__ = ("_receive", "_waiting", "is_reported", "refusal")

    def __init__(self, receive: Receive) -> None:
        """Begin with a request that may be answered.

        receive: the channel of the request (ASGI).
        """
        self.refusal: EbbError | None = None
        self.is_reported = False
        self._receive = receive
        self._waiting: set[asyncio.Timeout] = set()

    def end(self, refusal: EbbError) -> None:
        """End the access for good."""
        self.refusal = refusal
        for each in self._waiting:
            each.reschedule(0)

    async def receive(self) -> Message:
        """Return the next message of the client, or its departure once the access has ended (ASGI)."""
        if self.refusal is None:
            waiting = asyncio.timeout(None)
            try:
                async with waiting:
                    self._waiting.add(waiting)
                    return await self._receive()
            except TimeoutError:
                if not waiting.expired():
                    raise
            finally:
                self._waiting.discard(waiting)
                # The timeout knows its task, whose error has this frame: only the garbage collector would free them.
                del waiting
        self.is_reported = True
        return {"type": "http.disconnect"}


def access_refusal(scope: Scope) -> EbbError | None:
    """Return why the request may not be answered any longer; None if it may."""
    access: RequestAccess | None = scope.get("state", {}).get(STATE)
    return access.refusal if access is not None else None
