"""Request bodies, read with limits on their size and time, and on the memory of all bodies of a tenant."""

import asyncio
import logging
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Final, TypeVar

from starlette.requests import Request

from app.config.sizes import format_size
from app.domain.bounds import BODY_SECONDS, DISCARD_SECONDS, MAX_DISCARDED_BYTES
from app.http.client_presence import stop_if_left
from app.http.error_responses import BodyTooLargeError, TooSlowError, UnsupportedEncodingError
from app.logs.request_log import message
from app.schemas.parsing import CompatibleRequest, IgnoredFields, RequestModel, parse_body
from app.tenants.principal import Principal
from app.tenants.tenant_threads import TenantThreads
from engine.api.errors import InvalidRequestError, OverloadedError

MAX_MEMBERS: Final = 16
"""Compressed streams in one body. A gzip file may have several, and each one costs time whatever its size."""

BLOCK_BYTES: Final = 64 << 10
"""Compressed bytes that a step reads at most."""

STEP_BYTES: Final = 1 << 20
"""Decompressed bytes that a step writes at most: a few milliseconds."""

LONG_BODY: Final = 32 << 10
"""Bytes from which the parts of a request are read, and its prompt is prepared, off the event loop."""

MOST_OF_ONE: Final = 256 << 20
"""Bytes of all bodies of one tenant that are being read or used: four files to import."""

MEMORY: Final = "body_memory"
"""Key in the scope's state: the BodyMemory of a request whose tenant is known."""

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


class BodyMemory:
    """Memory for the body of one request. Close it when the request ends."""

    __slots__ = ("_held", "_num_bytes", "_tenant")

    def __init__(self, held: Counter[str], tenant: str) -> None:
        """Begin with no memory.

        held: bytes of all bodies, by tenant.
        """
        self._held = held
        self._tenant = tenant
        self._num_bytes = 0

    def grow(self, num_bytes: int) -> None:
        """Take memory for more bytes of the body. Raise OverloadedError if the tenant has too many."""
        if self._held[self._tenant] + num_bytes > MOST_OF_ONE:
            raise OverloadedError(
                f"The requests of this tenant have more than {format_size(MOST_OF_ONE)} of bodies together. Retry in "
                "2 s.",
                retry_after=2,
            )
        self._held[self._tenant] += num_bytes
        self._num_bytes += num_bytes

    def close(self) -> None:
        """Give all memory back. The body is not used any longer."""
        self._held[self._tenant] -= self._num_bytes
        self._num_bytes = 0
        if not self._held[self._tenant]:
            del self._held[self._tenant]


class Inflation:
    """Decompression of one body in short steps, with bounds on the decompressed size and on the number of members."""

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


Model = TypeVar("Model", bound=RequestModel)
T = TypeVar("T")

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
    request.state.is_long = len(body) >= LONG_BODY
    try:
        return await apart_if_long(request, lambda: _parsed(request, model, body))
    finally:
        # The answer may take long, and needs the body no more.
        if (memory := _memory(request)) is not None:
            memory.close()


async def apart_if_long(request: Request, work: Callable[[], T]) -> T:
    """Return what `work` makes of a request's fields, on a thread if the body was long."""
    return await asyncio.to_thread(work) if request.state.is_long else work()


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
    memory: BodyMemory | None = request.scope.get("state", {}).get(MEMORY)
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
