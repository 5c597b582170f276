"""Health of the database as a place for writes, and the errors that clients get while it refuses them.

A full disk, a foreign lock or a failing disk is not a defect of the code: it passes, or a person fixes it. Each is
an `OutageError` with a sentence and a time to retry. Other errors are defects, and stay as they are.
"""

from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Final

from engine.api.errors import OutageError

PATIENT_MILLISECONDS: Final = 5000
IMPATIENT_MILLISECONDS: Final = 250
"""Time for which a write waits for a foreign lock: while the database takes writes, and after it refused one. Writes
run one after another, so each would also wait as long as all those before it."""


class StorageFullError(OutageError):
    """507: there is no room for what should be stored."""

    status = 507
    code = "storage_full"
    retry_after = 30


class StorageUnavailableError(OutageError):
    """503: the database is locked by another process, or cannot be read or written."""

    code = "storage_unavailable"


class CommitUnknownError(StorageUnavailableError):
    """503: no answer says whether the changes of a transaction are stored.

    is_stored: set once the database says so.
    """

    code = "commit_unknown"

    def __init__(self, is_stored: "Future[bool]") -> None:
        self.is_stored = is_stored
        super().__init__(
            "The database did not confirm a change, which may be stored or not. Look whether it is there, then try "
            "again"
        )


class SchemaChangedError(StorageUnavailableError):
    """503: another version of Ebb has changed the database, and this server stops."""

    code = "schema_changed"

    def __init__(self) -> None:
        super().__init__(
            "Another version of Ebb has changed the database while this server had lost its connections. This server "
            "stops: start the other version in its place"
        )


class StorageHealth:
    """The reason for which the last write was refused. Any thread may read it."""

    def __init__(self) -> None:
        self._failing: OutageError | None = None
        self.lost: str | None = None
        """A sentence if the file had lost committed acts when it was opened."""

    @property
    def reason(self) -> str | None:
        """A sentence; None while the database takes writes."""
        return self._failing.message if self._failing is not None else None

    @property
    def reason_code(self) -> str | None:
        """The code of the refusal; None while the database takes writes."""
        return self._failing.code if self._failing is not None else None

    @property
    def is_away(self) -> bool:
        """Whether the last write failed because the database could not be used."""
        return isinstance(self._failing, StorageUnavailableError)

    @property
    def is_lost(self) -> bool:
        """Whether the database is that of another version, so that this server can use it no more."""
        return isinstance(self._failing, SchemaChangedError)

    @property
    def patience(self) -> int:
        """Milliseconds for which a write waits for a foreign lock."""
        return PATIENT_MILLISECONDS if self._failing is None else IMPATIENT_MILLISECONDS

    def fail(self, outage: OutageError) -> None:
        """Record a refusal, until the next write that succeeds."""
        self._failing = outage

    @contextmanager
    def write(self) -> Iterator[None]:
        """Record the outcome of the write inside."""
        try:
            yield
        except OutageError as outage:
            self.fail(outage)
            raise
        self._failing = None
