"""Frames of a stream that differ in one text."""

from collections.abc import Callable

from app.transport.sse import encode_json


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
