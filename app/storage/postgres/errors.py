"""Errors of PostgreSQL as the errors that the storage modules and the clients receive.

A lost connection or a full disk is not a defect of the code: it passes, or a person fixes it. Each is an OutageError
with a sentence and a time to retry. Other errors are defects.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from psycopg import Error, IntegrityError, InterfaceError, OperationalError
from psycopg.errors import (
    DiskFull,
    ForeignKeyViolation,
    IdleInTransactionSessionTimeout,
    QueryCanceled,
    ReadOnlySqlTransaction,
    UniqueViolation,
)

from app.domain.storage_health import SchemaChangedError, StorageFullError, StorageUnavailableError
from app.storage.errors import ConstraintError, DatabaseError, DuplicateError, MissingReferenceError
from app.storage.postgres.own_schema import CHANGED
from engine.api.errors import OutageError


def outage_of(error: Error) -> OutageError | None:
    """Return the error that clients get for one of PostgreSQL; None for a defect."""
    if error.sqlstate == CHANGED:
        return SchemaChangedError()
    match error:
        case DiskFull():
            return StorageFullError("The disk of PostgreSQL is full. Free some space, then try again.")
        case ReadOnlySqlTransaction():
            return StorageUnavailableError("PostgreSQL takes no writes: it is a standby. Try again in a few seconds.")
        case QueryCanceled():
            return None
        case OperationalError() | InterfaceError() | IdleInTransactionSessionTimeout():
            return StorageUnavailableError("PostgreSQL does not answer. Try again in a few seconds.")
        case _:
            return None


def defect_of(error: Error) -> DatabaseError:
    """Convert an error of PostgreSQL that is not an outage to the one that the storage modules get."""
    match error:
        case UniqueViolation():
            return DuplicateError(str(error))
        case ForeignKeyViolation():
            return MissingReferenceError(str(error))
        case IntegrityError():
            return ConstraintError(str(error))
        case _:
            return DatabaseError(str(error))


@contextmanager
def translated_errors() -> Iterator[None]:
    """Raise the errors of PostgreSQL inside as OutageError or DatabaseError."""
    try:
        yield
    except Error as error:
        raise outage_of(error) or defect_of(error) from error
