"""Batches in which a new full-text index is filled, the newest titles and messages first."""

from typing import Final

from app.storage.connection import DatabaseConnection
from app.storage.search_words import INDEXED_CHARACTERS

BATCH_MESSAGES: Final = 200
BATCH_CHARACTERS: Final = 262_144
"""Characters of text per batch, which always holds at least one message."""


def next_batch(connection: DatabaseConnection) -> range | None:
    """Return the numbers of `searchable` to index next, and count them as indexed; None if nothing is left."""
    row = connection.fetch_one("SELECT below FROM upkeep WHERE task = 'index'")
    if row is None:
        return None
    below = int(row["below"])
    start = _start_of_batch(connection, below)
    if start is None:
        connection.execute("DELETE FROM upkeep WHERE task = 'index'")
        return None
    connection.execute("UPDATE upkeep SET below = ? WHERE task = 'index'", (start,))
    return range(start, below)


def _start_of_batch(connection: DatabaseConnection, below: int) -> int | None:
    """Return the least number of the batch that ends at `below`; None if nothing is left."""
    sizes = connection.iterate(
        "SELECT number, coalesce(length(content), 0) AS size FROM searchable "
        "LEFT JOIN message ON message.id = message_id WHERE number < ? ORDER BY number DESC LIMIT ?",
        (below, BATCH_MESSAGES),
    )
    start: int | None = None
    characters = 0
    for number, size in sizes:
        characters += min(size, INDEXED_CHARACTERS)
        if start is not None and characters > BATCH_CHARACTERS:
            break
        start = number
    return start
