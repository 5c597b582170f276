"""Errors in the shape of Anthropic's API, and where they are told in it.

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
    """Whether a path belongs to Anthropic's API, be there a route or not."""
    return path == ROUTE or path.startswith(f"{ROUTE}/")


def anthropic_error(error: EbbError, request_id: str) -> dict[str, Any]:
    """The body. This API has no place for the field at fault but the sentence, so it stands there."""
    named = error.param is None or error.param in error.message
    return {
        "type": "error",
        "error": {
            "type": _TYPES.get(error.status, "invalid_request_error" if error.status < 500 else "api_error"),
            "message": error.message if named else f"{error.param}: {error.message}",
        },
        "request_id": request_id,
    }
