"""Errors in the format of Anthropic's API, and the paths that use it.

Source: https://docs.anthropic.com/en/api/errors.
"""

from typing import Any

from app.http.named_field import message_with_field
from engine.api.errors import EbbError, PromptTooLongError

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
    """Return the error body.

    `details.error_code` has the error's code, which Anthropic's clients read for conversations that the server holds.
    """
    return {
        "type": "error",
        "error": {
            "type": _TYPES.get(error.status, "invalid_request_error" if error.status < 500 else "api_error"),
            "message": _message(error),
            "details": {"error_code": error.code},
        },
        "request_id": request_id,
    }


def _message(error: EbbError) -> str:
    """Return the message, for a prompt that is too long in the words by which Anthropic's clients recognize it."""
    if isinstance(error, PromptTooLongError):
        length = f"more than {error.maximum}" if error.num_tokens is None else error.num_tokens
        return f"prompt is too long: {length} tokens > {error.maximum} maximum"
    return message_with_field(error)
