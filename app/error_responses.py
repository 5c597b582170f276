"""Errors as clients see them, in the shape of OpenAI's API, on every route."""

import logging
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.engine_host import RETRY_AFTER_SECONDS
from engine.errors import EbbError, NotReadyError, OverloadedError, ServerError

logger = logging.getLogger(__name__)


class BodyTooLargeError(EbbError):
    """413: the body is larger than the limit."""

    status = 413
    code = "body_too_large"


class ForbiddenError(EbbError):
    """403: a page of another site tries to use this server through the browser of the person who visits it."""

    status = 403
    code = "forbidden"


def error_body(error: EbbError) -> dict[str, Any]:
    """The value of "error"."""
    return {
        "message": error.message,
        "type": _error_type(error.status),
        "param": error.param,
        "code": error.code,
    }


def error_response(error: EbbError) -> JSONResponse:
    """The whole answer."""
    headers = {}
    if isinstance(error, OverloadedError):
        headers["Retry-After"] = str(error.retry_after)
    elif isinstance(error, NotReadyError):
        headers["Retry-After"] = str(RETRY_AFTER_SECONDS)
    elif isinstance(error, BodyTooLargeError):
        headers["Connection"] = "close"
    return JSONResponse({"error": error_body(error)}, error.status, headers)


def on_ebb_error(_request: Request, exc: Exception) -> Response:
    """What Ebb raised on purpose."""
    assert isinstance(exc, EbbError)
    if isinstance(exc, ServerError) and not isinstance(exc, NotReadyError):
        logger.error("request failed: %s", exc.message, exc_info=exc)
    return error_response(exc)


def on_http_error(request: Request, exc: Exception) -> Response:
    """What the router raised: unknown path, wrong method."""
    assert isinstance(exc, HTTPException)
    code = {404: "not_found", 405: "method_not_allowed"}.get(exc.status_code, "http_error")
    detail = f"{request.method} {request.url.path}: {exc.detail}"
    body = {"message": detail, "type": _error_type(exc.status_code), "param": None, "code": code}
    return JSONResponse({"error": body}, exc.status_code, exc.headers)


def on_unexpected_error(_request: Request, _exc: Exception) -> Response:
    """A fault of ours; the server logs the traceback, the client gets one sentence."""
    return error_response(ServerError("The server made a mistake; its log says what happened"))


def _error_type(status: int) -> str:
    if status == OverloadedError.status:
        return "rate_limit_error"
    return "invalid_request_error" if status < 500 else "server_error"
