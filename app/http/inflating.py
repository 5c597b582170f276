"""Decompression of request bodies in short steps, with bounds on the decompressed size and on the number of members."""

import zlib
from typing import Final

from app.config.sizes import format_size
from app.http.error_responses import BodyTooLargeError, UnsupportedEncodingError
from engine.api.errors import InvalidRequestError

MAX_MEMBERS: Final = 16
"""Compressed streams in one body. A gzip file may have several, and each one costs time whatever its size."""

BLOCK_BYTES: Final = 64 << 10
"""Compressed bytes that a step reads at most."""

STEP_BYTES: Final = 1 << 20
"""Decompressed bytes that a step writes at most: a few milliseconds."""

# zlib detects the header: gzip's or its own, which HTTP calls deflate.
_ANY_HEAD = 32 + zlib.MAX_WBITS


def is_compressed(encoding: str) -> bool:
    """Return whether a body with this Content-Encoding header is compressed. Raise UnsupportedEncodingError."""
    match encoding.strip().lower():
        case "" | "identity":
            return False
        case "gzip" | "x-gzip" | "deflate":
            return True
        case _:
            raise UnsupportedEncodingError(
                f"Content-Encoding {encoding!r} is not supported: send the body uncompressed, or use gzip or deflate"
            )


class Inflation:
    """Decompression of one body."""

    def __init__(self, body: bytes, limit: int) -> None:
        """Prepare the decompression to at most `limit` bytes."""
        self._body = memoryview(body)
        self._limit = limit
        self._read = 0
        self._rest = b""
        self._stream = zlib.decompressobj(_ANY_HEAD)
        self._members = 1
        self._whole = bytearray()
        self.is_done = not body

    def step(self) -> None:
        """Decompress a little more. `is_done` becomes True at the end.

        Raises:
            BodyTooLargeError: the decompressed body is larger than the limit.
            InvalidRequestError: the body is not compressed, is incomplete, or has too many members.
        """
        block = self._rest or self._next_block()
        try:
            written = self._stream.decompress(block, min(STEP_BYTES, self._limit + 1 - len(self._whole)))
        except zlib.error as error:
            raise InvalidRequestError(f"The body does not match its Content-Encoding: {error}") from None
        self._whole += written
        if len(self._whole) > self._limit:
            raise BodyTooLargeError(f"The body is larger than {format_size(self._limit)} after decompression")
        if self._stream.eof:
            self._end_member()
        elif not block and not written:
            raise InvalidRequestError("The compressed body is incomplete")
        else:
            self._rest = self._stream.unconsumed_tail

    @property
    def num_bytes(self) -> int:
        """Size of what was decompressed so far."""
        return len(self._whole)

    def whole(self) -> bytes:
        """Return the decompressed body."""
        return bytes(self._whole)

    def _next_block(self) -> memoryview:
        begin, self._read = self._read, min(len(self._body), self._read + BLOCK_BYTES)
        return self._body[begin : self._read]

    def _end_member(self) -> None:
        self._rest = self._stream.unused_data
        if not self._rest and self._read == len(self._body):
            self.is_done = True
            return
        self._members += 1
        if self._members > MAX_MEMBERS:
            raise InvalidRequestError(f"The compressed body has more than {MAX_MEMBERS} members: compress it as one")
        self._stream = zlib.decompressobj(_ANY_HEAD)
