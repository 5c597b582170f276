"""Cursors of paged lists: opaque to clients, validated when they come back."""

import base64
import json
from collections.abc import Sequence

from app.storage.conversations import ListPosition
from engine.api.errors import InvalidRequestError

TimePlace = tuple[float, str]
"""A time in Unix seconds, and the id of the row that has it."""

MAX_CHARACTERS = 256
"""Upper bound on a cursor's length. JSON this short cannot be nested deeper than the parser allows."""


def position_cursor(place: ListPosition) -> str:
    """Encode a place in the list of conversations as a cursor."""
    return _encoded(place)


def time_cursor(place: TimePlace | None) -> str | None:
    """Encode the place after which the next page begins, in the order of a time; None on the last page."""
    return _encoded(place) if place is not None else None


def parse_position(cursor: str) -> ListPosition:
    """Decode a cursor made by `position_cursor`. Raise InvalidRequestError for anything else."""
    match _decoded(cursor):
        case [bool(pinned), float(updated_at), str(conversation_id)]:
            return pinned, updated_at, conversation_id
        case _:
            raise _invalid()


def parse_time_place(cursor: str) -> TimePlace:
    """Decode a cursor made by `time_cursor`. Raise InvalidRequestError for anything else."""
    match _decoded(cursor):
        case [float(at), str(row_id)]:
            return at, row_id
        case _:
            raise _invalid()


def name_cursor(name: str) -> str:
    """Encode a name in a list of tenants as a cursor."""
    return _encoded([name])


def parse_name_cursor(cursor: str) -> str:
    """Decode a cursor made by `name_cursor`. Raise InvalidRequestError for anything else."""
    match _decoded(cursor):
        case [str(name)]:
            return name
        case _:
            raise _invalid()


def _encoded(place: Sequence[bool | float | str]) -> str:
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


def _decoded(cursor: str) -> object:
    """Return the JSON value of a cursor; None if it has none."""
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        return json.loads(base64.urlsafe_b64decode(padded)) if len(cursor) <= MAX_CHARACTERS else None
    except ValueError:
        return None


def _invalid() -> InvalidRequestError:
    return InvalidRequestError("cursor must be the next_cursor of an earlier answer", param="cursor")
