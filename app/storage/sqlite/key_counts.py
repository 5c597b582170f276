"""The number of API keys in a database file, which a server may be using."""

import sqlite3
from contextlib import closing
from pathlib import Path

from app.storage.key_counts import KeyCounts


def count_keys(database: Path) -> KeyCounts:
    """Count the keys in a database file without changing the file.

    A file that does not exist, or predates keys, counts as having none.
    """
    if not database.exists():
        return KeyCounts(0, 0)
    with closing(sqlite3.connect(f"{database.absolute().as_uri()}?mode=rw", uri=True)) as connection:
        if not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'api_key'").fetchone():
            return KeyCounts(0, 0)
        made, valid = connection.execute(
            "SELECT count(*), count(*) FILTER (WHERE revoked_at IS NULL) FROM api_key"
        ).fetchone()
    return KeyCounts(made, valid)
