"""A connection of the module sqlite3 as the storage modules use it."""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Final

from app.domain.storage_health import StorageFullError, StorageUnavailableError
from app.storage.connection import Parameters, Row
from app.storage.dialect import Dialect
from app.storage.errors import ConstraintError, DatabaseError, DuplicateError, MissingReferenceError
from app.storage.sqlite.functions import add_functions
from engine.api.errors import OutageError

_PRIMARY_CODE: Final = 0xFF

_LOCKED: Final = "Another process holds a lock on the database. Retry in a few seconds."
_REASONS: Final = MappingProxyType(
    {
        sqlite3.SQLITE_BUSY: _LOCKED,
        sqlite3.SQLITE_LOCKED: _LOCKED,
        # SQLite gave up waiting for a lock of the write-ahead log, after ten seconds.
        sqlite3.SQLITE_PROTOCOL: _LOCKED,
        sqlite3.SQLITE_IOERR: "The disk of the state directory fails. See the log of the server and of the system.",
        sqlite3.SQLITE_READONLY: "The database is read-only or was replaced. Restart the server once it is writable.",
        sqlite3.SQLITE_CANTOPEN: "The database cannot be opened. Check the state directory and its permissions.",
        sqlite3.SQLITE_CORRUPT: "The database is damaged. Stop the server and restore a backup (ebb restore).",
        sqlite3.SQLITE_NOTADB: "The database is damaged. Stop the server and restore a backup (ebb restore).",
    }
)
_CONSTRAINTS: Final = MappingProxyType(
    {
        sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY: MissingReferenceError,
        sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY: DuplicateError,
        sqlite3.SQLITE_CONSTRAINT_ROWID: DuplicateError,
        sqlite3.SQLITE_CONSTRAINT_UNIQUE: DuplicateError,
    }
)


def outage_of(error: sqlite3.Error) -> OutageError | None:
    """Return the error that clients get for one of SQLite; None for a defect."""
    code = _code_of(error) & _PRIMARY_CODE
    if code == sqlite3.SQLITE_FULL:
        return StorageFullError("The disk of the state directory is full. Free some space, then try again.")
    return StorageUnavailableError(_REASONS[code]) if code in _REASONS else None


def defect_of(error: sqlite3.Error) -> DatabaseError:
    """Convert an error of SQLite that is not an outage to the one that the storage modules get."""
    if isinstance(error, sqlite3.IntegrityError):
        return _CONSTRAINTS.get(_code_of(error), ConstraintError)(str(error))
    return DatabaseError(str(error))


@contextmanager
def translated_errors() -> Iterator[None]:
    """Raise the errors of SQLite inside as OutageError or DatabaseError."""
    try:
        yield
    except sqlite3.Error as error:
        raise outage_of(error) or defect_of(error) from error


def _code_of(error: sqlite3.Error) -> int:
    # The module's own errors, such as the use of a closed connection, have no code.
    return getattr(error, "sqlite_errorcode", 0)


def _json_element(index: int) -> str:
    # The result has the type that the element has in JSON.
    return f"json_extract(value, '$[{index}]')"


def _json_count(column: str, names: tuple[str, ...]) -> str:
    place = f"{column}, '$.{'.'.join(names)}'"
    value = f"json_extract({place})"
    return f"CASE WHEN json_type({place}) = 'integer' AND {value} BETWEEN 0 AND 9999999999999 THEN {value} ELSE 0 END"


SQLITE: Final = Dialect(
    same="IS",
    greatest="max",
    least="min",
    now="((julianday('now') - 2440587.5) * 86400.0)",
    json_strings=lambda array: f"SELECT value FROM json_each({array})",
    json_items="json_each(?)",
    json_text=_json_element,
    json_integer=_json_element,
    json_count=_json_count,
    whole=lambda number: f"CAST({number} AS INTEGER)",
    beginning="beginning",
    characters="characters",
    looked_up=lambda table, condition: f"CROSS JOIN {table} ON {condition}",
)


class SqliteConnection:
    """Implementation of `app.storage.connection.Connection`.

    raw: the connection itself, for statements and settings that only SQLite has.
    """

    __slots__ = ("raw",)

    dialect = SQLITE

    def __init__(self, raw: sqlite3.Connection) -> None:
        self.raw = raw

    @classmethod
    def open(cls, path: Path) -> "SqliteConnection":
        """Connect to the file at `path`, without implicit transactions.

        Several threads may use the connection, but never at the same time.
        """
        raw = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        raw.row_factory = sqlite3.Row
        add_functions(raw)
        return cls(raw)

    def execute(self, sql: str, parameters: Parameters = (), /) -> int:
        """Execute a statement, and return the number of rows that it changed."""
        return self.raw.execute(sql, parameters).rowcount

    def execute_many(self, sql: str, rows: Iterable[Parameters], /) -> None:
        """Execute a statement once for each of `rows`."""
        self.raw.executemany(sql, rows)

    def fetch_all(self, sql: str, parameters: Parameters = (), /) -> list[Row]:
        """Return all rows of a statement."""
        return self.raw.execute(sql, parameters).fetchall()

    def fetch_one(self, sql: str, parameters: Parameters = (), /) -> Row | None:
        """Return the first row of a statement; None if there is none."""
        row: Row | None = self.raw.execute(sql, parameters).fetchone()
        return row

    def notify(self, topic: str, text: str) -> None:
        """Do nothing: a file has one server."""

    def iterate(self, sql: str, parameters: Parameters = (), /) -> Iterator[Row]:
        """Yield the rows of a statement one at a time."""
        return self.raw.execute(sql, parameters)
