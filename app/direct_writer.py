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
    """Writer of one answer's body. To be used only while nothing is in the answer's `send`: pieces would change places.

    filler: a piece without meaning that may be written behind any other, to see whether the client is there; b"" for
    none.
    """

    filler: bytes

    @property
    def ready(self) -> bool:
        """Whether the connection takes a piece now: the head was sent, and the client reads."""

    def write(self, piece: bytes) -> None:
        """Write a piece of the body, as `send` would; only while `ready`."""

    def abort(self) -> None:
        """Cut the connection, with the answer unfinished."""


def direct_writer(scope: Scope) -> DirectWriter | None:
    """The request's; None on servers that offer none."""
    writer: DirectWriter | None = scope.get("extensions", {}).get(EXTENSION)
    return writer
