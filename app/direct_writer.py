"""Pieces of a streamed answer, written in the step that brings them.

An ASGI extension that `app.http_protocol` offers. For every token of every stream, to wake the task that sends, and to
pass its piece down through each layer's `send`, cost more than all else that is done for it. So a stream that waits for
news may write them itself; whatever the connection does not take at once goes the usual way.
"""

from typing import Protocol

from starlette.types import Scope

EXTENSION = "ebb.direct_writer"
"""Its key in the scope's `extensions`."""


class DirectWriter(Protocol):
    """Of one answer's body. To be used only while nobody is in the answer's `send`: pieces would change places."""

    @property
    def ready(self) -> bool:
        """Whether the connection takes a piece now: the head was sent, and the client reads."""

    def write(self, piece: bytes) -> None:
        """A piece of the body, as `send` would write it; only while `ready`."""


def direct_writer(scope: Scope) -> DirectWriter | None:
    """The request's; None on servers that offer none."""
    writer: DirectWriter | None = scope.get("extensions", {}).get(EXTENSION)
    return writer
