"""Framings of a stream: its content type, and the filler that may be sent between two frames.

A stream is silent while its answer waits for the first token. The filler then keeps proxies from closing the
connection, and reveals a client that has left. In server-sent events the filler is a comment. JSON lines have no
comments, and clients parse each line, even an empty one. Their filler is a space, with which the next line begins: JSON
allows white space before a value.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from app.http import media_types
from app.transport.sse import encode_json


@dataclass(frozen=True, slots=True)
class Framing:
    """One kind of stream.

    media_type: value of the Content-Type header, without a charset.
    filler: bytes without meaning that may follow any frame.
    """

    media_type: str
    filler: bytes


EVENTS: Final = Framing(media_types.EVENTS, b": ping\n\n")
"""Server-sent events: WHATWG HTML, section "Server-sent events"."""

EVENTS_WITH_IDS: Final = Framing(media_types.EVENTS, b": ping\n")
"""Server-sent events whose ids the `openai` package reads. After an id, it takes any empty line for an event."""

JSON_LINES: Final = Framing(media_types.LINES, b" ")
"""One JSON object per line."""


def json_line(data: dict[str, Any]) -> bytes:
    """Encode one line of a stream."""
    return f"{encode_json(data)}\n".encode()


class TextFrame:
    """A frame around a text. Everything except the text is encoded once, since every token may need a frame."""

    def __init__(self, encode: Callable[[str], bytes]) -> None:
        """Encode the constant parts. `encode` encodes the whole frame, given its text."""
        mark = "\0"
        # A client may have named the model like the mark. Names precede the text, so the last mark is that of the text.
        self._before, _, self._after = encode(mark).rpartition(encode_json(mark).encode())

    def encode(self, text: str) -> bytes:
        """Encode the frame of `text`."""
        return self._before + encode_json(text).encode() + self._after
