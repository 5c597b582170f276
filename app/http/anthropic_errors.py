"""Errors in the format of Anthropic's API, and the paths that use it.

Source: https://docs.anthropic.com/en/api/errors.
"""

from typing import Any

from engine.errors import EbbError

ROUTE = "/v1/messages"

_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
    507: "overloaded_error",
}


def is_anthropic(path: str) -> bool:
    """Return whether a path belongs to Anthropic's API, even if it has no route."""
    return path == ROUTE or path.startswith(f"{ROUTE}/")


def anthropic_error(error: EbbError, request_id: str) -> dict[str, Any]:
    """Return the error body. This API has no field for the name of the parameter at fault, so the message names it."""
    named = error.param is None or error.param in error.message
    return {
        "type": "error",
        "error": {
            "type": _TYPES.get(error.status, "invalid_request_error" if error.status < 500 else "api_error"),
            "message": error.message if named else f"{error.param}: {error.message}",
        },
        "request_id": request_id,
    }
