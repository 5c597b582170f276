"""Presence of a request's client, as an ASGI extension that `app.transport.protocol` offers.

A server discards messages to a client that has left. Without this extension, the application would log and count them
as responses.
"""

from typing import Final, Protocol

from starlette.requests import ClientDisconnect
from starlette.types import Scope

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
