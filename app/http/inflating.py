"""Decompression of request bodies, with a bound on the decompressed size."""

import zlib
from collections.abc import Callable

from app.config.sizes import format_size
from app.http.error_responses import BodyTooLargeError, UnsupportedEncodingError
from engine.errors import InvalidRequestError

Inflate = Callable[[bytes, int], bytes]
"""Decompresses a body to at most the given number of bytes. Raises BodyTooLargeError, InvalidRequestError."""

# zlib detects the header: gzip's or its own, which HTTP calls deflate.
_ANY_HEAD = 32 + zlib.MAX_WBITS


def decompressor(encoding: str) -> Inflate | None:
    """Return the decompressor for a Content-Encoding header; None for a body that is not compressed.

    Raises UnsupportedEncodingError.
    """
    match encoding.strip().lower():
        case "" | "identity":
            return None
        case "gzip" | "x-gzip" | "deflate":
            return _inflated
        case _:
            raise UnsupportedEncodingError(
                f"Content-Encoding {encoding!r} is not supported: send the body uncompressed, or use gzip or deflate"
            )


def _inflated(body: bytes, limit: int) -> bytes:
    whole, rest = bytearray(), body
    while rest:
        stream = zlib.decompressobj(_ANY_HEAD)
        try:
            whole += stream.decompress(rest, limit + 1 - len(whole))
        except zlib.error as error:
            raise InvalidRequestError(f"The body does not match its Content-Encoding: {error}") from None
        if len(whole) > limit:
            raise BodyTooLargeError(f"The body is larger than {format_size(limit)} after decompression")
        if not stream.eof:
            raise InvalidRequestError("The compressed body is incomplete")
        # A gzip file may have several members.
        rest = stream.unused_data
    return bytes(whole)
