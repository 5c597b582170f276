"""Errors as clients see them: in the shape of OpenAI's API, on Anthropic's routes in that of theirs."""

import logging
from collections.abc import Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from app.anthropic_errors import anthropic_error, is_anthropic
from app.engine_host import RETRY_AFTER_SECONDS
from app.storage.versions import VersionMismatchError
from engine.errors import EbbError, NotReadyError, OutageError, OverloadedError, ServerError

logger = logging.getLogger(__name__)


class BodyTooLargeError(EbbError):
    """413: the body is larger than the limit."""

    status = 413
    code = "body_too_large"


class UnsupportedEncodingError(EbbError):
    """415: the body is compressed in a way that this server does not know."""

    status = 415
    code = "unsupported_encoding"


class TooSlowError(EbbError):
    """408: the request did not come in time; its connection is closed."""

    status = 408
    code = "request_too_slow"


class ForbiddenError(EbbError):
    """403: a page of another site tries to use this server through the browser of the person who visits it, or a key
    does not go so far."""

    status = 403
    code = "forbidden"


class UnauthorizedError(EbbError):
    """401: no key was shown, or one that opens nothing."""

    status = 401

    def __init__(self, was_shown: bool) -> None:
        if was_shown:
            super().__init__("This key opens nothing here: it is wrong, or was revoked", code="invalid_api_key")
        else:
            super().__init__(
                "This server demands a key: send it as Authorization: Bearer KEY, or log in", code="missing_api_key"
            )


class ErrorResponse(Response):
    """An error, written in the shape of the API whose path was asked for once that is known."""

    def __init__(self, error: EbbError, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status_code=error.status)
        self._error = error
        self._headers_of_error = dict(headers or {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        body: dict[str, Any] = {"error": error_body(self._error)}
        if isinstance(self._error, VersionMismatchError):
            body["version"] = self._error.current
        headers = self._headers_of_error
        if is_anthropic(scope["path"]):
            request_id = scope.get("state", {}).get("request_id", "")
            body, headers = anthropic_error(self._error, request_id), {**headers, "request-id": request_id}
        await JSONResponse(body, self.status_code, headers)(scope, receive, send)


def error_body(error: EbbError) -> dict[str, Any]:
    """The value of "error"."""
    return {
        "message": error.message,
        "type": _error_type(error.status),
        "param": error.param,
        "code": error.code,
    }


def error_response(error: EbbError) -> Response:
    """The whole answer."""
    headers = {}
    if isinstance(error, OverloadedError | OutageError):
        headers["Retry-After"] = str(error.retry_after)
    elif isinstance(error, NotReadyError):
        headers["Retry-After"] = str(RETRY_AFTER_SECONDS)
    elif isinstance(error, BodyTooLargeError | TooSlowError):
        headers["Connection"] = "close"
    if isinstance(error, UnauthorizedError):
        headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, VersionMismatchError):
        headers["ETag"] = f'"{error.current}"'
    return ErrorResponse(error, headers)


def on_ebb_error(_request: Request, exc: Exception) -> Response:
    """Answer with an error that Ebb raised on purpose. The log has a traceback only where a defect may be the cause."""
    assert isinstance(exc, EbbError)
    if isinstance(exc, OutageError):
        logger.error("request refused: %s", exc.message)
    elif isinstance(exc, ServerError) and not isinstance(exc, NotReadyError):
        logger.error("request failed: %s", exc.message, exc_info=exc)
    return error_response(exc)


def on_http_error(request: Request, exc: Exception) -> Response:
    """What the router raised: unknown path, wrong method."""
    assert isinstance(exc, HTTPException)
    code = {404: "not_found", 405: "method_not_allowed"}.get(exc.status_code, "http_error")
    error = EbbError(f"{request.method} {request.url.path}: {exc.detail}", code=code)
    error.status = exc.status_code
    return ErrorResponse(error, exc.headers)


def unexpected_error_response(request_id: str) -> Response:
    """A fault of ours: the log has the traceback, the client gets one sentence and the name to look for."""
    return error_response(ServerError(f"The server made a mistake; its log says what happened to {request_id}"))


def _error_type(status: int) -> str:
    if status == OverloadedError.status:
        return "rate_limit_error"
    return "invalid_request_error" if status < 500 else "server_error"
