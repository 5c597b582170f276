"""Encoder of JSON lines."""

from typing import Any

from app.transport.sse import encode_json


def json_line(data: dict[str, Any]) -> bytes:
    """Encode one line of a stream."""
    return f"{encode_json(data)}\n".encode()
