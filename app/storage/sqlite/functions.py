"""Functions of Python that statements and triggers call.

SQLite's own functions of texts see nothing after a NUL character.
"""

import sqlite3

from app.storage.search_words import segmented


def add_functions(connection: sqlite3.Connection) -> None:
    """Add the functions to a connection: `segmented` for the search index, `beginning` and `characters` of a text."""
    connection.create_function("segmented", 1, segmented, deterministic=True)
    connection.create_function("beginning", 2, _beginning, deterministic=True)
    connection.create_function("characters", 1, len, deterministic=True)


def _beginning(text: str, characters: int) -> str:
    return text[:characters]
