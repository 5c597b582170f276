"""Cursors of paged lists: opaque to clients, validated when they come back."""

import base64
import json

from app.storage.conversations import ListPosition
from engine.errors import InvalidRequestError

MAX_CHARACTERS = 256
"""Upper bound on a cursor's length. JSON this short cannot be nested deeper than the parser allows."""


def position_cursor(place: ListPosition) -> str:
    """Encode a place in the list of conversations as a cursor."""
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


def parse_position(cursor: str) -> ListPosition:
    """Decode a cursor made by `position_cursor`. Raises InvalidRequestError for anything else."""
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        value = json.loads(base64.urlsafe_b64decode(padded)) if len(cursor) <= MAX_CHARACTERS else None
    except ValueError:
        value = None
    match value:
        case [bool(pinned), float(updated_at), str(conversation_id)]:
            return pinned, updated_at, conversation_id
        case _:
            raise InvalidRequestError("cursor must be the next_cursor of an earlier answer", param="cursor")
