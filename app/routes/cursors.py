"""Cursors of paged lists: opaque to clients, validated when they come back."""

import base64
import json
from collections.abc import Sequence

from app.storage.conversations import ListPosition
from app.storage.recently_deleted import DeletedPosition
from engine.errors import InvalidRequestError

MAX_CHARACTERS = 256
"""Upper bound on a cursor's length. JSON this short cannot be nested deeper than the parser allows."""


def position_cursor(place: ListPosition) -> str:
    """Encode a place in the list of conversations as a cursor."""
    return _encoded(place)


def deletion_cursor(place: DeletedPosition) -> str:
    """Encode a place in the list of deleted conversations as a cursor."""
    return _encoded(place)


def parse_position(cursor: str) -> ListPosition:
    """Decode a cursor made by `position_cursor`. Raises InvalidRequestError for anything else."""
    match _decoded(cursor):
        case [bool(pinned), float(updated_at), str(conversation_id)]:
            return pinned, updated_at, conversation_id
        case _:
            raise _invalid()


def parse_deletion(cursor: str) -> DeletedPosition:
    """Decode a cursor made by `deletion_cursor`. Raises InvalidRequestError for anything else."""
    match _decoded(cursor):
        case [float(deleted_at), str(conversation_id)]:
            return deleted_at, conversation_id
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
