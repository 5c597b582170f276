"""JSON responses whose size grows with what a tenant has stored."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import msgspec
from starlette.responses import Response, StreamingResponse


class LargeJSONResponse(Response):
    """A JSON response whose encoder takes a fifth of the time of the standard library's.

    The event loop waits for it: 2 MB of messages took 25 ms. The content must have no NaN and no infinity.
    """

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Encode `content`."""
        return msgspec.json.encode(content)


async def json_in_parts(
    content: Mapping[str, Any], elements: AsyncIterator[list[Any]], headers: Mapping[str, str]
) -> Response:
    """Make a response with `content`, whose last member is an empty list, and with the elements of that list.

    A part of the elements is requested once the client has taken the part before, so a slow reader holds one part. The
    first part is requested before the response begins, so that an error has its own response.
    """
    first = await anext(elements, None)
    beginning = msgspec.json.encode(content)
    assert beginning.endswith(b"[]}")

    async def pieces() -> AsyncIterator[bytes]:
        yield beginning[:-2]
        part, comma = first, b""
        while part is not None:
            if part:
                yield comma + msgspec.json.encode(part)[1:-1]
                comma = b","
            part = await anext(elements, None)
        yield b"]}"

    return StreamingResponse(pieces(), media_type="application/json", headers=headers)
