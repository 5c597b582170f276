"""Validated query parameters."""

import re
from collections.abc import Sequence
from typing import Final, TypeVar, get_args

from starlette.requests import Request

from app.domain.records import ConversationSource
from engine.api.errors import InvalidRequestError

SOURCES: tuple[ConversationSource, ...] = get_args(ConversationSource)
MAX_MOMENT: Final = 1e11
"""Bound on moments, in seconds since the epoch: a time after the year 5000 may be one in milliseconds."""

Choice = TypeVar("Choice", bound=str)


def whole_number(request: Request, name: str, default: int, *, low: int, high: int) -> int:
    """Return a whole number from `low` to `high`, or `default` if it is left out. Raise InvalidRequestError."""
    given = request.query_params.get(name)
    if given is None:
        return default
    if not (given.isascii() and given.isdigit() and len(given) <= 18 and low <= int(given) <= high):
        raise InvalidRequestError(f"{name} must be a whole number from {low} to {high}", param=name)
    return int(given)


def source_of(request: Request) -> ConversationSource:
    """Return the kind of conversations that `source` names, by default the page's chats. Raise InvalidRequestError."""
    return one_of(request, "source", SOURCES) or "chat"


def one_of(request: Request, name: str, choices: Sequence[Choice]) -> Choice | None:
    """Return the one of the choices that a parameter names; None if it is left out. Raise InvalidRequestError."""
    given = request.query_params.get(name)
    if given is None:
        return None
    for choice in choices:
        if given == choice:
            return choice
    raise InvalidRequestError(f"{name} must be one of {', '.join(choices)}", param=name)


def moment(request: Request, name: str) -> float | None:
    """Return a time in seconds since the epoch; None if it is left out. Raise InvalidRequestError."""
    given = request.query_params.get(name)
    if given is None:
        return None
    if not re.fullmatch(r"\d{1,12}(\.\d{1,9})?", given, re.ASCII) or float(given) > MAX_MOMENT:
        raise InvalidRequestError(f"{name} must be a time in seconds since 1970, such as 1767225600", param=name)
    return float(given)


def flag(request: Request, name: str) -> bool:
    """Return a parameter that is true or false, by default false. Raise InvalidRequestError."""
    given = request.query_params.get(name, "false")
    if given not in ("true", "false"):
        raise InvalidRequestError(f"{name} must be true or false", param=name)
    return given == "true"


_RANGE: Final = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)
MAX_POSITION: Final = 200_000
"""Bound on the positions that a parameter may list, and on how many, with those that it repeats."""


def positions(request: Request, name: str) -> frozenset[int] | None:
    """Return the positions that a parameter such as 0-41,43 lists; None without it. Raise InvalidRequestError."""
    given = request.query_params.get(name)
    if given is None:
        return None
    found, room = set[int](), MAX_POSITION
    for part in given.split(","):
        match = _RANGE.fullmatch(part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match is not None else (1, 0)
        room -= last - first + 1
        if not first <= last < MAX_POSITION or room < 0:
            raise InvalidRequestError(f"{name} must be a list of positions and ranges, such as 0-41,43", param=name)
        found.update(range(first, last + 1))
    return frozenset(found)
