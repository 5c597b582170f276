"""Errors of the storage. While the database takes no writes, they are the OutageErrors of `app.domain.storage_health`.

A CommitUnknownError among them is the only one after which the changes of a transaction may be stored.

DatabaseError
└── ConstraintError            the statement violates a constraint of the schema
    ├── DuplicateError         another row has the same key
    └── MissingReferenceError  the row that a foreign key names does not exist
"""

from engine.api.errors import NotReadyError


class DatabaseError(Exception):
    """A statement was rejected, or the file is damaged."""


class ConstraintError(DatabaseError):
    """A statement violates a constraint."""


class DuplicateError(ConstraintError):
    """Another row has the key of an inserted or changed row."""


class MissingReferenceError(ConstraintError):
    """A foreign key names a row that does not exist."""


class UnusableDatabaseError(Exception):
    """The database was written by a later version of Ebb, is damaged, or cannot be opened. Says what to do."""


class ReadTimeoutError(NotReadyError):
    """503: a read of the database was stopped at its time limit."""

    code = "read_timeout"
