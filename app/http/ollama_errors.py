"""Errors in the format of Ollama's API, and the paths that use it.

Source: https://docs.ollama.com/api/errors.
"""

from typing import Any, Final

from app.http.named_field import message_with_field
from engine.api.errors import EbbError

PATHS: Final = frozenset(
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
BLOBS: Final = "/api/blobs/"


def is_ollama(path: str) -> bool:
    """Return whether a path belongs to Ollama's API. All other paths below /api are Ebb's own."""
    return path in PATHS or path.startswith(BLOBS)


def ollama_error(error: EbbError) -> dict[str, Any]:
    """Return the error body, which is also the last line of a stream that failed."""
    return {"error": message_with_field(error)}
