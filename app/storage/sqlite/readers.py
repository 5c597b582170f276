"""Read-only connections to an SQLite file."""

import sqlite3
from pathlib import Path

from app.storage.readers import Readers
from app.storage.sqlite.connection import SqliteConnection, defect_of, outage_of

PRAGMAS = """
    PRAGMA busy_timeout = 5000;
    PRAGMA temp_store = MEMORY;
    PRAGMA query_only = ON;
"""


class SqliteReaders(Readers[SqliteConnection]):
    """Owner of the read connections to a file."""

    @classmethod
    def open(cls, path: Path, count: int, *, most_of_one: int) -> "SqliteReaders":
        """Open `count` connections, of which one tenant may lease at most `most_of_one` at a time."""
        connections = list[SqliteConnection]()
        try:
            for _ in range(count):
                connections.append(SqliteConnection.open(path))
                connections[-1].raw.executescript(PRAGMAS)
        except BaseException:
            for connection in connections:
                connection.raw.close()
            raise
        return cls(connections, most_of_one)

    def interrupt(self, connection: SqliteConnection) -> None:
        """End the statement that runs on a connection."""
        connection.raw.interrupt()

    def prepare(self, connection: SqliteConnection) -> None:
        """Leave a connection as it is: an interrupt ends one statement only."""

    def close_one(self, connection: SqliteConnection) -> None:
        """Close a connection."""
        connection.raw.close()

    def error_of(self, error: Exception, *, is_late: bool) -> Exception | None:
        """Return the error to raise for one of SQLite."""
        if not isinstance(error, sqlite3.Error):
            return error
        if isinstance(error, sqlite3.OperationalError):
            if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT and is_late:
                return None
            return outage_of(error) or defect_of(error)
        # A damaged file, among others. No retry helps, so the client receives no outage.
        return defect_of(error)
