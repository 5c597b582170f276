"""The identity of an open database: which file its path named when it was opened.

A file that is deleted or replaced under a running server still accepts writes, but no path names it. So every
transaction compares the files after its commit and before its caller learns of success. That takes two calls of `stat`.
"""

import os
from contextlib import suppress
from pathlib import Path

from app.domain.storage_health import StorageUnavailableError

_Identity = tuple[int, int]
"""Device and inode."""


class FileIdentity:
    """Device and inode of a database and its write-ahead log. Belongs to the writer's thread."""

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
