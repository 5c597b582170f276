"""Framings of a stream: its content type, and the filler that may be sent between two frames.

A stream is silent while its answer waits for the first token. The filler then keeps proxies from closing the
connection, and reveals a client that has left. In server-sent events the filler is a comment. JSON lines have no
comments, and clients parse each line, even an empty one. Their filler is a space, with which the next line begins: JSON
allows white space before a value.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Framing:
    """One kind of stream.

    media_type: value of the Content-Type header, without a charset.
    filler: bytes without meaning that may follow any frame.
    """

    media_type: str
    filler: bytes


EVENTS: Final = Framing("text/event-stream", b": ping\n\n")
"""Server-sent events: WHATWG HTML, section "Server-sent events"."""

EVENTS_WITH_IDS: Final = Framing(EVENTS.media_type, b": ping\n")
"""Server-sent events whose ids the `openai` package reads. After an id, it takes any empty line for an event."""

JSON_LINES: Final = Framing("application/x-ndjson", b" ")
"""One JSON object per line."""
