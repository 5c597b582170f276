"""Migrations of the database file from the schema of an earlier version to the newest one."""

import logging
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from app.storage.errors import UnusableDatabaseError
from app.storage.sqlite.connection import SqliteConnection
from app.storage.sqlite.former_index import clear_former_rows

logger = logging.getLogger(__name__)

SCHEMA = Path(__file__).with_name("schema")
"""File n (counted from 0, in the order of their names) brings a database of user_version n to n + 1. Files are never
changed once released, only added."""

OPCODES_PER_LOOK = 1_000_000
LOG_SECONDS = 5.0
"""Time between two log lines of a long migration."""


def migrations() -> list[str]:
    """Read the scripts that make the newest schema, each on top of those before it."""
    return [path.read_text(encoding="utf-8") for path in sorted(SCHEMA.glob("*.sql"))]


def schema_of(file: Path) -> int:
    """Return the number of migrations that made a file; 0 where it is missing, empty or cannot be read."""
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            return int(connection.execute("PRAGMA user_version").fetchone()[0])
    except sqlite3.Error:
        return 0


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring the file to the newest schema, one transaction for each script. Raise UnusableDatabaseError.

    Scripts change the schema. Work that grows with the number of messages is left to `app.storage.upkeep`, in batches
    while the server serves.
    """
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    scripts = migrations()
    if version > len(scripts):
        raise UnusableDatabaseError(too_new(path, version, len(scripts)))
    if version == len(scripts):
        return
    connection.set_progress_handler(_progress(path, len(scripts)), OPCODES_PER_LOOK)
    try:
        for number in range(version, len(scripts)):
            if number + 1 in _BEFORE:
                _BEFORE[number + 1](connection)
            connection.executescript(f"BEGIN; {scripts[number]} PRAGMA user_version = {number + 1}; COMMIT;")
    finally:
        connection.set_progress_handler(None, 0)


def too_new(path: Path, version: int, newest: int) -> str:
    """Return why a file of schema `version` cannot be opened, and what to do. `newest` is the newest known schema."""
    return (
        f"The conversations in {path} were written by a later version of Ebb (schema {version}, this one knows "
        f"{newest}): start that version, or choose another --state-dir"
    )


def _progress(path: Path, newest: int) -> Callable[[], None]:
    began = told = time.monotonic()

    def look() -> None:
        nonlocal told
        now = time.monotonic()
        if now - told >= LOG_SECONDS:
            told = now
            logger.info("upgrading %s to schema %d: %.0f s so far", path, newest, now - began)

    return look


def _clear_former_index(connection: sqlite3.Connection) -> None:
    """Remove the search index of schema 11 in batches.

    A process that ends in between leaves a file of schema 11 to the next one.
    """
    former = SqliteConnection(connection)
    while clear_former_rows(former):
        pass


_BEFORE = {12: _clear_former_index}
"""Work before the script that makes a schema, each in transactions of its own."""
