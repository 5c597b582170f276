"""Server-sent events as ready bytes.

Format: WHATWG HTML, section "Server-sent events". Frames are encoded once and then only copied.
"""

import json
from typing import Any

RECONNECT_MILLISECONDS = 500

DONE_FRAME = b"data: [DONE]\n\n"


# They end no line in this format, but they do in str.splitlines(), which many clients read lines with.
_LINE_ENDS = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}

# json.dumps would make an encoder for each call.
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def encode_json(value: Any) -> str:
    """Compact JSON. It holds no line end of any kind, so it fits one `data:` line."""
    text = _encode(value)
    return text if text.isascii() else text.translate(_LINE_ENDS)


def event_frame(kind: str, data: str, event_id: str) -> bytes:
    """A named event that a client can resume after. data: JSON, as `encode_json` makes it."""
    return f"id: {event_id}\nevent: {kind}\ndata: {data}\n\n".encode()


def farewell_frame() -> bytes:
    """The server stops: come back in a moment. It has no id, so the client's cursor stays where it is."""
    return f"event: server_restart\nretry: {RECONNECT_MILLISECONDS}\ndata: {{}}\n\n".encode()


def typed_frame(data: dict[str, Any]) -> bytes:
    """An event that is named by its own "type"."""
    return f"event: {data['type']}\ndata: {encode_json(data)}\n\n".encode()


def data_frame(data: dict[str, Any]) -> bytes:
    """An unnamed event."""
    return f"data: {encode_json(data)}\n\n".encode()
