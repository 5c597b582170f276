"""A copy of the conversations' SQLite file that is whole, wherever it comes from and whoever writes meanwhile."""

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from app.storage.database import migrations
from app.storage.search_words import segmented
from engine.errors import EbbError

SQLITE_MAGIC = b"SQLite format 3\x00"
BUSY_SECONDS = 30.0


class SnapshotError(EbbError):
    """A file of conversations cannot be copied, or is not what it should be; the message says what to do."""

    code = "snapshot_unusable"


@dataclass(frozen=True, slots=True)
class Contents:
    """What a whole file holds. schema: the number of migrations that made it."""

    schema: int
    conversations: int
    messages: int

    def __str__(self) -> str:
        """For a person."""
        return f"{self.conversations} conversations, {self.messages} messages, schema {self.schema}"


@contextmanager
def copied(source: Path, beside: Path) -> Iterator[tuple[Path, Contents]]:
    """A checked copy of the database `source`, in a file of mode 0600 in the folder of `beside`; to be renamed.

    SQLite's online backup reads one state of the source; its writers neither wait nor end up in it by half. What was
    deleted in the source is not in the copy. The file is gone at the end if it was not renamed. Raises SnapshotError.
    """
    descriptor, name = tempfile.mkstemp(dir=beside.parent, prefix=f".{beside.name}.")
    os.close(descriptor)
    draft = Path(name)
    try:
        with closing(_open(source)) as original, closing(sqlite3.connect(draft)) as copy:
            original.backup(copy)
            # One file: no journal beside it. And none of the pages that deleted text still lies in.
            copy.executescript("PRAGMA journal_mode = DELETE; VACUUM;")
        contents = inspect(draft)
        _sync(draft)
        yield draft, contents
    except sqlite3.Error as error:
        raise SnapshotError(f"{source} cannot be copied: {error}") from error
    finally:
        draft.unlink(missing_ok=True)


def inspect(file: Path) -> Contents:
    """What is in it, if it is whole and from this version of Ebb or an earlier one. Raises SnapshotError."""
    if not is_sqlite(file):
        raise SnapshotError(f"{file} is no file of conversations")
    try:
        with closing(_open(file)) as connection:
            faults = [row[0] for row in connection.execute("PRAGMA integrity_check(3)")]
            if faults != ["ok"]:
                raise SnapshotError(f"{file} is damaged: {'; '.join(faults)}")
            (schema,) = connection.execute("PRAGMA user_version").fetchone()
            if schema > len(migrations()):
                raise SnapshotError(
                    f"{file} was written by a later version of Ebb (schema {schema}, this one knows "
                    f"{len(migrations())}); install that version"
                )
            if missing := _names_of(schema) - _names(connection):
                raise SnapshotError(f"{file} is damaged: it lacks {', '.join(sorted(missing))}")
            (conversations,) = connection.execute("SELECT count(*) FROM conversation").fetchone()
            (messages,) = connection.execute("SELECT count(*) FROM message").fetchone()
    except sqlite3.Error as error:
        raise SnapshotError(f"{file} is no file of conversations: {error}") from error
    return Contents(schema, conversations, messages)


def _names_of(version: int) -> set[str]:
    """The tables, indexes, views and triggers of that schema. (The integrity check of a file with a virtual table does
    not find what is missing.)"""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.create_function("segmented", 1, segmented, deterministic=True)
        for script in migrations()[:version]:
            connection.executescript(script)
        return _names(connection)


def _names(connection: sqlite3.Connection) -> set[str]:
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}


def is_sqlite(file: Path) -> bool:
    """Whether it begins like a database. Raises SnapshotError if it cannot be read."""
    try:
        with file.open("rb") as opened:
            return opened.read(len(SQLITE_MAGIC)) == SQLITE_MAGIC
    except OSError as error:
        raise SnapshotError(f"{file}: {error.strerror or error}") from error


def put(draft: Path, target: Path) -> None:
    """Give `draft` its name, for good: a file that is there is replaced in one step."""
    os.replace(draft, target)
    with suppress(OSError):  # some file systems do not let a folder be synced
        _sync(target.parent)


def _open(file: Path) -> sqlite3.Connection:
    # Not `ro`, though it only reads: whoever reads a write-ahead log needs an index file, which may have to be made.
    return sqlite3.connect(f"{file.absolute().as_uri()}?mode=rw", uri=True, timeout=BUSY_SECONDS)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
