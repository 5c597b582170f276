"""Validated query parameters."""

import re
from typing import Final, get_args

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


_RANGE: Final = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)
MAX_POSITION: Final = 200_000
"""Bound on the positions that a parameter may list, and on how many."""


def positions(request: Request, name: str) -> frozenset[int] | None:
    """Return the positions that a parameter such as 0-41,43 lists; None without it. Raises InvalidRequestError."""
    given = request.query_params.get(name)
    if given is None:
        return None
    found = set[int]()
    for part in given.split(","):
        match = _RANGE.fullmatch(part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match is not None else (1, 0)
        if not first <= last < MAX_POSITION or len(found) + last - first >= MAX_POSITION:
            raise InvalidRequestError(f"{name} must be a list of positions and ranges, such as 0-41,43", param=name)
        found.update(range(first, last + 1))
    return frozenset(found)
