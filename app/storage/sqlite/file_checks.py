"""Checks of a database's file: it is still the file that was opened, and no committed act is missing from it."""

import os
import struct
import time
from contextlib import suppress
from pathlib import Path

from app.domain.storage_health import StorageUnavailableError

_Identity = tuple[int, int]
"""Device and inode."""


class FileIdentity:
    """Device and inode of a database and its write-ahead log. Belongs to the writer's thread.

    A file that is deleted or replaced under a running server still accepts writes, but no path names it. So every
    transaction compares the files after its commit and before its caller learns of success. That takes two calls of
    `stat`.
    """

    def __init__(self, database: Path) -> None:
        """Record the files that the path names now. Create this once the writer has opened them."""
        self._database = database
        self._log = database.with_name(f"{database.name}-wal")
        self._expected = _identity(database)
        self._expected_log: _Identity | None = None

    def check(self) -> None:
        """Raise StorageUnavailableError if the commit went to a file that the path no longer names.

        A disk that cannot say which file that is raises nothing: what was committed is stored.
        """
        with suppress(OSError):
            self._check()

    def _check(self) -> None:
        if _identity(self._database) != self._expected:
            raise StorageUnavailableError(_sentence(self._database))
        # The first transaction makes the log, which stays until the last connection closes.
        log = _identity(self._log)
        self._expected_log = self._expected_log or log
        if log != self._expected_log:
            raise StorageUnavailableError(_sentence(self._log))


def _identity(path: Path) -> _Identity | None:
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino


def _sentence(path: Path) -> str:
    return (
        f"{path.name} was deleted or replaced while the server was running, so nothing stored now would last. Restart "
        "the server, then restore a backup if chats are missing (ebb restore)."
    )


ENDING = "-mark"

_TIME = struct.Struct("<d")


class Mark:
    """Owner of the mark of one database. Belongs to the writer's thread.

    SQLite opens an empty file, and ignores a lost or garbled write-ahead log, without an error. The mark is a file of
    eight bytes with the time of the newest act, written after each commit. The mark outlives the process like the log
    itself. A database whose own newest act is older has lost something.
    """

    def __init__(self, database: Path) -> None:
        """Open the mark, or create it. If that fails, no loss is ever reported."""
        self._database = database
        self._descriptor: int | None = None
        self._newest = 0.0
        with suppress(OSError):
            path = database.with_name(f"{database.name}{ENDING}")
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            noted = os.pread(self._descriptor, _TIME.size, 0)
            if len(noted) == _TIME.size:
                [self._newest] = _TIME.unpack(noted)

    def missing(self, newest: float) -> str | None:
        """Return a sentence if the database, whose newest act is `newest`, has lost some; else None."""
        if newest >= self._newest:
            return None
        last = f"ends at {_words(newest)}" if newest else "is empty"
        return (
            f"{self._database} {last}, but something was stored at {_words(self._newest)}: the file or its write-ahead "
            "log (-wal) was lost, cut or replaced. If chats are missing, stop the server and restore a backup (ebb "
            "restore)"
        )

    def note(self, newest: float) -> None:
        """Note the newest act that is committed."""
        if self._descriptor is not None and newest != self._newest:
            self._newest = newest
            with suppress(OSError):
                os.pwrite(self._descriptor, _TIME.pack(newest), 0)

    def close(self) -> None:
        """Close the file."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _words(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))
