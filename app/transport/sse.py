"""Encoder of server-sent events.

Format: WHATWG HTML, section "Server-sent events". Frames are encoded once and then only copied.
"""

import json
from collections.abc import Mapping
from typing import Any

RECONNECT_MILLISECONDS = 500

DONE_FRAME = b"data: [DONE]\n\n"


# These characters do not end a line in the format, but str.splitlines(), which many clients use, splits at them.
_LINE_ENDS = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}

# json.dumps would make an encoder for each call.
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def encode_json(value: Any) -> str:
    """Encode compact JSON without line ends of any kind, so that it fits on one line of a stream."""
    text = _encode(value)
    return text if text.isascii() else text.translate(_LINE_ENDS)


def event_frame(kind: str, data: str, event_id: str) -> bytes:
    """Encode a named event that a client can resume after.

    data: JSON, as `encode_json` returns it.
    """
    return f"id: {event_id}\nevent: {kind}\ndata: {data}\n\n".encode()


def farewell_frame() -> bytes:
    """Encode the event that asks clients to reconnect, since the server is stopping.

    The event has no id, so that the client's cursor stays unchanged.
    """
    return f"event: server_restart\nretry: {RECONNECT_MILLISECONDS}\ndata: {{}}\n\n".encode()


def named_frame(kind: str, data: Mapping[str, Any]) -> bytes:
    """Encode an event without an id, which no client can resume after."""
    return f"event: {kind}\ndata: {encode_json(data)}\n\n".encode()


def typed_frame(data: dict[str, Any]) -> bytes:
    """Encode an event that is named by the "type" of its data."""
    return f"event: {data['type']}\ndata: {encode_json(data)}\n\n".encode()


def numbered_frame(data: dict[str, Any]) -> bytes:
    """Encode an event that is named by the "type" of its data, and whose id is the "sequence_number"."""
    return f"event: {data['type']}\ndata: {encode_json(data)}\nid: {data['sequence_number']}\n\n".encode()


def data_frame(data: dict[str, Any]) -> bytes:
    """Encode an event without a name."""
    return f"data: {encode_json(data)}\n\n".encode()
