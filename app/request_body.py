"""The body of a request, read with a limit."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import TypeVar

from starlette.requests import Request

from app.error_responses import BodyTooLargeError
from app.limits import DISCARD_SECONDS, MAX_BODY_BYTES, MAX_DISCARDED_BYTES
from app.schemas.parsing import RequestModel, parse_body

Model = TypeVar("Model", bound=RequestModel)


async def read_body(request: Request, model: type[Model]) -> Model:
    """Read and check the JSON body.

    Raises:
        BodyTooLargeError: more than MAX_BODY_BYTES, told by Content-Length or by what came.
        InvalidRequestError: the body is not what `model` says.
    """
    declared = request.headers.get("content-length", "0")
    stream = request.stream()
    if not declared.isdigit() or int(declared) > MAX_BODY_BYTES:
        raise await _too_large(stream)
    body = bytearray()
    async for chunk in stream:
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise await _too_large(stream)
    return parse_body(model, bytes(body))


async def _too_large(rest: AsyncIterator[bytes]) -> BodyTooLargeError:
    """Lets the client finish, within bounds: an answer to one that still sends is lost when its connection closes."""
    discarded = 0
    with suppress(TimeoutError):
        async with asyncio.timeout(DISCARD_SECONDS):
            async for chunk in rest:
                discarded += len(chunk)
                if discarded > MAX_DISCARDED_BYTES:
                    break
    return BodyTooLargeError(f"The body is larger than {MAX_BODY_BYTES >> 20} MiB")
