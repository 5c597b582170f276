"""New databases of the tests as copies of one that the migrations have made.

Running all migrations takes most of the time in which a test opens a new file.
"""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from app.storage.sqlite import database
from app.storage.sqlite.migrating import migrate


@contextmanager
def copied_databases() -> Iterator[None]:
    """Run the migrations for the first new file only, and copy its pages into each further one.

    A file that has tables is migrated as without this.
    """
    # Each open store has a separate thread.
    lock = threading.Lock()
    with closing(sqlite3.connect(":memory:", check_same_thread=False)) as made, pytest.MonkeyPatch.context() as patch:

        def migrate_or_copy(connection: sqlite3.Connection, path: Path) -> None:
            if not _is_new(connection):
                migrate(connection, path)
                return
            with lock:
                if _is_new(made):
                    migrate(connection, path)
                    connection.backup(made)
                    return
                made.backup(connection)

        patch.setattr(database, "migrate", migrate_or_copy)
        yield


def _is_new(connection: sqlite3.Connection) -> bool:
    # A file of a later version is refused, even if nothing is in it.
    [version] = connection.execute("PRAGMA user_version").fetchone()
    return version == 0 and connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone() is None
