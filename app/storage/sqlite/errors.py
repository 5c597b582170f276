"""Errors of SQLite as the errors that the storage modules and the clients receive.

A full disk, a foreign lock or a failing disk is not a defect of the code: it passes, or a person fixes it. Each is an
OutageError with a sentence and a time to retry. Other errors of SQLite are defects.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from types import MappingProxyType
from typing import Final

from app.domain.storage_health import StorageFullError, StorageUnavailableError
from app.storage.errors import ConstraintError, DatabaseError, DuplicateError, MissingReferenceError
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
