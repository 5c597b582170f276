"""Error responses: the status, the headers, and the log line of an error. `app.http.error_formats` has their bodies."""

import logging
from collections.abc import Mapping

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from app.domain.storage_health import CommitUnknownError
from app.host.engine_host import RETRY_AFTER_SECONDS
from app.http.error_formats import format_of
from app.http.unknown_routes import hint_for
from app.storage.versions import VersionMismatchError
from engine.api.errors import EbbError, NotReadyError, OutageError, OverloadedError, ServerError

logger = logging.getLogger(__name__)


class BodyTooLargeError(EbbError):
    """413: the body is larger than the limit."""

    status = 413
    code = "body_too_large"


class UnsupportedEncodingError(EbbError):
    """415: the body's compression is not supported."""

    status = 415
    code = "unsupported_encoding"


class TooSlowError(EbbError):
    """408: the request did not arrive in time; its connection is closed."""

    status = 408
    code = "request_too_slow"


class ForbiddenError(EbbError):
    """403: a page of another site uses this server through a visitor's browser, or the key's scope is too narrow."""

    status = 403
    code = "forbidden"


class UnauthorizedError(EbbError):
    """401: no key was presented, or an invalid one."""

    status = 401

    def __init__(self, was_shown: bool) -> None:
        if was_shown:
            # Begins with OpenAI's own words, by which LiteLLM tells a wrong key from a wrong field.
            super().__init__("Incorrect API key provided: the key is wrong or was revoked", code="invalid_api_key")
        else:
            super().__init__(
                "This server requires an API key: send it as Authorization: Bearer KEY, or log in",
                code="missing_api_key",
            )


class ErrorResponse(Response):
    """An error response, serialized in the format of the requested API once the path is known."""

    def __init__(self, error: EbbError, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status_code=error.status)
        self._error = error
        self._headers_of_error = dict(headers or {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the error (ASGI)."""
        api, request_id = format_of(scope["path"]), scope.get("state", {}).get("request_id", "")
        headers = {**self._headers_of_error, **({"request-id": request_id} if api.has_request_id else {})}
        await JSONResponse(api.body(self._error, request_id), self.status_code, headers)(scope, receive, send)


def error_response(error: EbbError) -> Response:
    """Make the response for `error`, with the headers that belong to it."""
    headers = {}
    if isinstance(error, OverloadedError | OutageError):
        headers["Retry-After"] = str(error.retry_after)
    elif isinstance(error, NotReadyError):
        headers["Retry-After"] = str(RETRY_AFTER_SECONDS)
    elif isinstance(error, BodyTooLargeError | TooSlowError):
        headers["Connection"] = "close"
    if isinstance(error, CommitUnknownError):
        # The clients of OpenAI and Anthropic would repeat the request by themselves, which may double its effect.
        headers["X-Should-Retry"] = "false"
    if isinstance(error, UnauthorizedError):
        headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, VersionMismatchError):
        headers["ETag"] = f'"{error.current}"'
    return ErrorResponse(error, headers)


def on_ebb_error(_request: Request, exc: Exception) -> Response:
    """Respond to an error that Ebb raised on purpose. A traceback is logged only if a defect may be the cause."""
    assert isinstance(exc, EbbError)
    log_error(exc)
    return error_response(exc)


def log_error(error: EbbError) -> None:
    """Log an error of the server. A client's error has no line."""
    if isinstance(error, OutageError):
        logger.error("request refused: %s", error.message)
    elif isinstance(error, ServerError) and not isinstance(error, NotReadyError):
        logger.error("request failed: %s", error.message, exc_info=error)


def on_http_error(request: Request, exc: Exception) -> Response:
    """Respond to an error of the router: unknown path, wrong method."""
    assert isinstance(exc, HTTPException)
    code = {404: "not_found", 405: "method_not_allowed"}.get(exc.status_code, "http_error")
    hint = hint_for(request.url.path) if exc.status_code == 404 else None
    message = f"{request.method} {request.url.path}: {exc.detail}"
    error = EbbError(message if hint is None else f"{message}. {hint}", code=code)
    error.status = exc.status_code
    return ErrorResponse(error, exc.headers)


def unexpected_error_response(request_id: str) -> Response:
    """Make the response to a defect. The log has the traceback, and the client gets the request id to find it by."""
    return error_response(ServerError(f"Unexpected server error. Look for {request_id} in the server's log"))
