"""Refusals of requests whose head cannot be read. The application sends them, as it does any other response."""

from app.domain.bounds import MAX_HEADER_BYTES, MAX_HEADERS
from engine.api.errors import ClientError, OverloadedError

REFUSAL = "refusal"
"""Key in the scope's state: the EbbError that the application must respond with."""


class UrlTooLongError(ClientError):
    """414: the path and query are longer than MAX_URL_BYTES."""

    status = 414
    code = "url_too_long"


class HeadersTooLargeError(ClientError):
    """431: too many headers, or too long ones."""

    status = 431
    code = "headers_too_large"


class PipelineFullError(OverloadedError):
    """429: too many requests wait for their turn on one connection."""

    code = "too_many_pipelined"


def headers_too_large() -> HeadersTooLargeError:
    """Return the error for headers beyond the bounds."""
    return HeadersTooLargeError(
        f"The request's headers are too large: at most {MAX_HEADERS} headers of {MAX_HEADER_BYTES >> 10} KiB in "
        "total are allowed"
    )
