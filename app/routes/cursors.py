"""Places in lists, as clients hand them back: opaque to them, checked by us."""

import base64
import json

from app.storage.conversations import Place
from engine.errors import InvalidRequestError

MOST_CHARACTERS = 256
"""No cursor of ours is longer, and what is so short is not nested too deep to be read."""


def place_cursor(place: Place) -> str:
    """Of a place in the list of conversations."""
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


def parse_place(cursor: str) -> Place:
    """Raises InvalidRequestError for what `place_cursor` did not make."""
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        value = json.loads(base64.urlsafe_b64decode(padded)) if len(cursor) <= MOST_CHARACTERS else None
    except ValueError:
        value = None
    match value:
        case [bool(pinned), float(updated_at), str(conversation_id)]:
            return pinned, updated_at, conversation_id
        case _:
            raise InvalidRequestError("cursor must be the next_cursor of an earlier answer", param="cursor")
