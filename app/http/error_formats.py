"""Errors in the formats of the APIs: OpenAI's, and Anthropic's and Ollama's on their paths.

Sources: https://docs.anthropic.com/en/api/errors, https://docs.ollama.com/api/errors.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from app.schemas.response_bodies.errors import ErrorBody
from app.storage.versions import VersionMismatchError
from engine.api.errors import EbbError, OverloadedError, PromptTooLongError


@dataclass(frozen=True, slots=True)
class ErrorFormat:
    """Format of the errors of one API.

    has_path: returns whether a path belongs to the API, even if it has no route.
    body: returns the error body, given the error and the id of its request.
    has_request_id: whether the response has the header `request-id`.
    """

    has_path: Callable[[str], bool]
    body: Callable[[EbbError, str], Mapping[str, Any]]
    has_request_id: bool = False


def format_of(path: str) -> ErrorFormat:
    """Return the format of errors on `path`: OpenAI's, unless another API has the path."""
    return next((each for each in FORMATS if each.has_path(path)), OPENAI)


def error_body(error: EbbError) -> ErrorBody:
    """Return the value of "error" in an error body of OpenAI's API."""
    return {"message": error.message, "type": _openai_type(error.status), "param": error.param, "code": error.code}


def openai_error(error: EbbError, _request_id: str) -> dict[str, Any]:
    """Return the error body of OpenAI's API, with the current version where a change came too late."""
    version = {"version": error.current} if isinstance(error, VersionMismatchError) else {}
    return {"error": error_body(error), **version}


def _openai_type(status: int) -> str:
    if status == OverloadedError.status:
        return "rate_limit_error"
    return "invalid_request_error" if status < 500 else "server_error"


def message_with_field(error: EbbError) -> str:
    """Return the message of `error`, which begins with the name of the field at fault unless it contains the name."""
    if error.param is None or error.param in error.message:
        return error.message
    return f"{error.param}: {error.message}"


ANTHROPIC_ROUTE = "/v1/messages"

_ANTHROPIC_TYPES = {
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
    return path == ANTHROPIC_ROUTE or path.startswith(f"{ANTHROPIC_ROUTE}/")


def anthropic_error(error: EbbError, request_id: str) -> dict[str, Any]:
    """Return the error body.

    `details.error_code` has the error's code, which Anthropic's clients read for conversations that the server holds.
    """
    return {
        "type": "error",
        "error": {
            "type": _ANTHROPIC_TYPES.get(error.status, "invalid_request_error" if error.status < 500 else "api_error"),
            "message": _anthropic_message(error),
            "details": {"error_code": error.code},
        },
        "request_id": request_id,
    }


def _anthropic_message(error: EbbError) -> str:
    """Return the message, for a prompt that is too long in the words by which Anthropic's clients recognize it."""
    if isinstance(error, PromptTooLongError):
        length = f"more than {error.maximum}" if error.num_tokens is None else error.num_tokens
        return f"prompt is too long: {length} tokens > {error.maximum} maximum"
    return message_with_field(error)


OLLAMA_PATHS: Final = frozenset(
    {
        "/api/chat",
        "/api/copy",
        "/api/create",
        "/api/delete",
        "/api/embed",
        "/api/embeddings",
        "/api/generate",
        "/api/ps",
        "/api/pull",
        "/api/push",
        "/api/show",
        "/api/tags",
        "/api/version",
    }
)
OLLAMA_BLOBS: Final = "/api/blobs/"


def is_ollama(path: str) -> bool:
    """Return whether a path belongs to Ollama's API. All other paths below /api are Ebb's own."""
    return path in OLLAMA_PATHS or path.startswith(OLLAMA_BLOBS)


def ollama_error(error: EbbError) -> dict[str, Any]:
    """Return the error body, which is also the last line of a stream that failed."""
    return {"error": message_with_field(error)}


OPENAI: Final = ErrorFormat(lambda _: True, openai_error)

FORMATS: Final = (
    ErrorFormat(is_anthropic, anthropic_error, has_request_id=True),
    ErrorFormat(is_ollama, lambda error, _: ollama_error(error)),
)
"""Formats of the APIs that have paths of their own."""
