"""Validated query parameters."""

from typing import get_args

from starlette.requests import Request

from app.domain.records import ConversationSource
from engine.errors import InvalidRequestError

SOURCES: tuple[ConversationSource, ...] = get_args(ConversationSource)


def whole_number(request: Request, name: str, default: int, *, low: int, high: int) -> int:
    """Return a whole number from `low` to `high`, or `default` if it is left out. Raises InvalidRequestError."""
    given = request.query_params.get(name)
    if given is None:
        return default
    if not (given.isascii() and given.isdigit() and len(given) <= 18 and low <= int(given) <= high):
        raise InvalidRequestError(f"{name} must be a whole number from {low} to {high}", param=name)
    return int(given)


def source_of(request: Request) -> ConversationSource:
    """Return the kind of conversations that `source` names, by default the page's chats. Raises InvalidRequestError."""
    given = request.query_params.get("source", "chat")
    for source in SOURCES:
        if given == source:
            return source
    raise InvalidRequestError(f"source must be one of {', '.join(SOURCES)}", param="source")


def flag(request: Request, name: str) -> bool:
    """Return a parameter that is true or false, by default false. Raises InvalidRequestError."""
    given = request.query_params.get(name, "false")
    if given not in ("true", "false"):
        raise InvalidRequestError(f"{name} must be true or false", param=name)
    return given == "true"
