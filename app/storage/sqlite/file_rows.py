"""The rows of a file that no server uses, for a copy into another database."""

import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from app.storage.errors import UnusableDatabaseError


class FileRows:
    """Owner of a connection that reads a file."""

    def __init__(self, file: Path) -> None:
        """Open the file. Raise UnusableDatabaseError."""
        self._file = file
        try:
            self._raw = sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)
        except sqlite3.Error as error:
            raise self._unreadable(error) from error

    def close(self) -> None:
        """Close the file."""
        self._raw.close()

    def count(self, table: str) -> int:
        """Return the number of rows of a table."""
        [[rows]] = self._read(f"SELECT count(*) FROM {table}")
        return int(rows)

    def newest_act(self) -> float:
        """Return the time of the last act in the file, in Unix seconds."""
        [[newest]] = self._read("SELECT newest FROM server_clock")
        return float(newest)

    def rows(self, table: str, columns: Iterable[str], order: str | None) -> Iterator[tuple[Any, ...]]:
        """Yield the columns of all rows of a table.

        order: columns to sort by; None means the order in which the rows were added.
        """
        return self._read(f"SELECT {', '.join(columns)} FROM {table} ORDER BY {order or 'rowid'}")

    def _read(self, sql: str) -> Iterator[tuple[Any, ...]]:
        try:
            # `yield from` would close the cursor, which fails once the file is closed.
            for row in self._raw.execute(sql):  # noqa: UP028
                yield row
        except sqlite3.Error as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: sqlite3.Error) -> UnusableDatabaseError:
        return UnusableDatabaseError(f"{self._file} cannot be read: {error}. `ebb doctor` says what is damaged")
