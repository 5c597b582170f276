"""Presence of a request's client, as an ASGI extension that `app.transport.protocol` offers.

A server discards messages to a client that has left. Without this extension, the application would log and count them
as responses.
"""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final, Protocol, TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.types import Scope

T = TypeVar("T")

EXTENSION: Final = "ebb.client_presence"
"""Key of the extension in the scope's `extensions`."""


class ClientPresence(Protocol):
    """Presence of one request's client."""

    @property
    def has_left(self) -> bool:
        """Whether the connection of the request is closed."""


def has_client_left(scope: Scope) -> bool:
    """Return whether the connection of the request is closed. False on servers without the extension."""
    presence: ClientPresence | None = scope.get("extensions", {}).get(EXTENSION)
    return presence is not None and presence.has_left


def stop_if_left(scope: Scope) -> None:
    """Raise ClientDisconnect if the connection of the request is closed. Also for threads that work for the request."""
    if has_client_left(scope):
        raise ClientDisconnect


def stop_of(request: Request) -> Callable[[], None]:
    """Return the function that raises ClientDisconnect once the connection of the request is closed."""
    return partial(stop_if_left, request.scope)


async def while_present(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Return the result of `work`, which is cancelled once the client has left, or its access has ended.

    The body of the request must have been read. Raise ClientDisconnect.
    """
    gone, working = asyncio.ensure_future(_departure(request)), asyncio.ensure_future(work)
    try:
        await asyncio.wait((gone, working), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        return working.result()
    finally:
        gone.cancel()
        working.cancel()
        await asyncio.wait((working,))


async def _departure(request: Request) -> None:
    # A request without a body has an empty one.
    while (await request.receive())["type"] != "http.disconnect":
        pass
