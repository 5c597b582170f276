"""A mark alongside the database that tells at the start whether committed acts are missing.

SQLite opens an empty file, and ignores a lost or garbled write-ahead log, without an error. The mark is a file of eight
bytes with the time of the newest act, written after each commit. The mark outlives the process like the log itself. A
database whose own newest act is older has lost something.
"""

import os
import struct
import time
from contextlib import suppress
from pathlib import Path

ENDING = "-mark"

_TIME = struct.Struct("<d")


class Mark:
    """Owner of the mark of one database. Belongs to the writer's thread."""

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
