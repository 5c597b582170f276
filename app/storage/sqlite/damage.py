"""Damage of a database file, looked for within a bounded time."""

import sqlite3
import time

OPCODES_PER_LOOK = 10_000

START_SECONDS = 0.2
"""Time that a start spends on looking: enough for some ten thousand messages."""


def find_damage(connection: sqlite3.Connection, seconds: float) -> list[str] | None:
    """List the damage. Return None if none was found and `seconds` did not suffice to see all of the file.

    Raise sqlite3.Error if the file cannot be read at all.
    """
    deadline = time.monotonic() + seconds
    # The root of each table is always read, however large the file is.
    for (table,) in connection.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
    ).fetchall():
        connection.execute(f'SELECT 1 FROM "{table}" NOT INDEXED LIMIT 1').fetchall()
    connection.set_progress_handler(lambda: time.monotonic() > deadline, OPCODES_PER_LOOK)
    try:
        faults = [str(row[0]) for row in connection.execute("PRAGMA quick_check(3)").fetchall()]
    except sqlite3.OperationalError:
        if time.monotonic() > deadline:
            return None
        raise
    finally:
        connection.set_progress_handler(None, 0)
    return [] if faults == ["ok"] else faults
