"""Direct writes of a streamed answer, in the step that produces the text.

This is an ASGI extension that `app.transport.protocol` offers. Waking the sending task for every token, and passing the
frame through each layer's `send`, costs more than all other work on the token. A stream that waits for output may
therefore write it to the connection itself. Frames that the connection cannot take at once are sent the usual way.
"""

from typing import Protocol

from starlette.types import Scope

EXTENSION = "ebb.direct_writer"
"""Key of the extension in the scope's `extensions`."""


class DirectWriter(Protocol):
    """Writer of one answer's body.

    Use it only while no `send` of the answer is pending, or pieces would be reordered.

    filler: a piece without meaning that may follow any other, written to probe whether the client is connected; b"" for
        none.
    """

    filler: bytes

    @property
    def ready(self) -> bool:
        """Whether the connection takes a piece now: the head was sent, and the client is reading."""

    def write(self, piece: bytes) -> None:
        """Write a piece of the body, as `send` would. Requires `ready`."""

    def abort(self) -> None:
        """Abort the connection, leaving the answer unfinished."""


def direct_writer(scope: Scope) -> DirectWriter | None:
    """Return the request's direct writer; None on servers without the extension."""
    writer: DirectWriter | None = scope.get("extensions", {}).get(EXTENSION)
    return writer
