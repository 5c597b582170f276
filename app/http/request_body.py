"""Request bodies, read with limits on their size and time."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import TypeVar

from starlette.requests import Request

from app.config.sizes import format_size
from app.domain.bounds import BODY_SECONDS, DISCARD_SECONDS, MAX_DISCARDED_BYTES
from app.http.client_presence import stop_if_left
from app.http.error_responses import BodyTooLargeError, TooSlowError
from app.http.inflating import Inflation, is_compressed
from app.logs.request_log import message
from app.schemas.ignored_fields import IgnoredFields
from app.schemas.parsing import CompatibleRequest, RequestModel, parse_body
from app.tenants.body_memory import STATE, BodyMemory
from app.tenants.principal import Principal
from app.tenants.tenant_threads import TenantThreads

Model = TypeVar("Model", bound=RequestModel)

logger = logging.getLogger(__name__)


async def read_body(request: Request, model: type[Model], limit: int) -> Model:
    """Read and validate the JSON body, of at most `limit` bytes.

    Unknown fields of a CompatibleRequest are ignored, and the response names them, unless the server is strict.

    Raises:
        BodyTooLargeError: the body has more than `limit` bytes, by its Content-Length or in fact.
        TooSlowError: the body was not complete after BODY_SECONDS.
        UnsupportedEncodingError: the body has a compression other than gzip and deflate.
        InvalidRequestError: the body does not match `model`.
    """
    body = await read_bytes(request, limit)
    try:
        return _parsed(request, model, body)
    finally:
        # The answer may take long, and needs the body no more.
        if (memory := _memory(request)) is not None:
            memory.close()


def _parsed(request: Request, model: type[Model], body: bytes) -> Model:
    request.state.ignored_fields = unknown = IgnoredFields()
    if request.app.state.strict_fields or not issubclass(model, CompatibleRequest):
        return parse_body(model, body)
    fields = parse_body(model, body, unknown)
    if unknown:
        logger.debug("ignored unknown fields", extra=message({"fields": str(unknown)}))
    return fields


def ignored_of(request: Request) -> IgnoredFields:
    """Return what the response will name as ignored. More may be added until it begins."""
    ignored: IgnoredFields = request.state.ignored_fields
    return ignored


async def read_bytes(request: Request, limit: int) -> bytes:
    """Return the whole body, decompressed. Raise as `read_body` does, BodyTooLargeError for more than `limit` bytes.

    The limit applies to the compressed body and to the decompressed one, which may be much larger. Raise
    OverloadedError if all bodies of the tenant together take too much memory.
    """
    compressed = is_compressed(request.headers.get("content-encoding", ""))
    stream = request.stream()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            body = await _whole(stream, request.headers.get("content-length", "0"), limit, _memory(request))
    except TimeoutError:
        raise TooSlowError(f"The body did not arrive completely within {BODY_SECONDS:g} s") from None
    if body is None:
        raise await _too_large(stream, limit)
    return await _inflated(request, body, limit) if compressed else body


async def _inflated(request: Request, body: bytes, limit: int) -> bytes:
    """Return the decompressed body. Tenants take turns at each step, and the work ends when the client leaves."""
    principal: Principal | None = request.state.principal
    tenant = principal.tenant if principal is not None else ""
    threads: TenantThreads = request.app.state.tenant_threads
    inflation, memory = Inflation(body, limit), _memory(request)
    while not inflation.is_done:
        stop_if_left(request.scope)
        before = inflation.num_bytes
        await threads.run(tenant, inflation.step)
        if memory is not None:
            memory.grow(inflation.num_bytes - before)
    return inflation.whole()


def _memory(request: Request) -> BodyMemory | None:
    """Return the memory for the body; None for requests of strangers, whose bodies are small."""
    memory: BodyMemory | None = request.scope.get("state", {}).get(STATE)
    return memory


async def _whole(stream: AsyncIterator[bytes], declared: str, limit: int, memory: BodyMemory | None) -> bytes | None:
    """Return the whole body; None if it is too large."""
    if not declared.isdigit() or int(declared) > limit:
        return None
    body = bytearray()
    async for chunk in stream:
        if memory is not None:
            memory.grow(len(chunk))
        body += chunk
        if len(body) > limit:
            return None
    return bytes(body)


async def _too_large(rest: AsyncIterator[bytes], limit: int) -> BodyTooLargeError:
    """Discard the rest of the body, within bounds, and return the error.

    A client that is still sending when its connection closes would lose the response.
    """
    discarded = 0
    with suppress(TimeoutError):
        async with asyncio.timeout(DISCARD_SECONDS):
            async for chunk in rest:
                discarded += len(chunk)
                if discarded > MAX_DISCARDED_BYTES:
                    break
    return BodyTooLargeError(f"The body is larger than {format_size(limit)}")
