"""Consistent copies of the conversations' SQLite file, even while a server writes to it."""

import fcntl
import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from app.storage.errors import DatabaseError
from app.storage.sqlite.damage import find_damage
from app.storage.sqlite.functions import add_functions
from app.storage.sqlite.migrating import migrations
from app.storage.sqlite.restoration import sync_folder
from engine.api.errors import EbbError

SQLITE_MAGIC = b"SQLite format 3\x00"
BUSY_SECONDS = 30.0
OWN_WORDS = 45
"""Schema from which the index before it may be gone."""


class SnapshotError(EbbError):
    """A database cannot be copied, or is invalid. The message says what to do."""

    code = "snapshot_unusable"


@dataclass(frozen=True, slots=True)
class Contents:
    """Contents of a valid file.

    schema: the number of migrations applied to it.
    missing: triggers of the schema that the file lacks. An early form of a script left some out, which a later script
        makes. The chats are complete.
    """

    schema: int
    conversations: int
    messages: int
    missing: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Describe the contents in words."""
        return f"{self.conversations} conversations, {self.messages} messages, schema {self.schema}"


@contextmanager
def copied(source: Path, target: Path) -> Iterator[tuple[Path, Contents]]:
    """Yield a checked copy of the database `source`: a file of mode 0600 alongside `target`, to be renamed to it.

    SQLite's online backup reads one state of the source. Writers do not wait, and none of their transactions is copied
    in part. Pages of deleted text are not in the copy. A copy that was not renamed is removed at the end, or by the
    next call if this process is killed.

    Raise SnapshotError.
    """
    remove_drafts(target)
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=_draft_prefix(target))
    draft = Path(name)
    try:
        # The lock distinguishes this copy from one that a killed process left behind.
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        with closing(_open(source)) as original, closing(sqlite3.connect(draft)) as copy:
            original.backup(copy)
            # Leave a single file without a journal, and without the free pages that still contain deleted text.
            copy.executescript("PRAGMA journal_mode = DELETE; VACUUM;")
        contents = inspect(draft)
        _sync(draft)
        yield draft, contents
    except sqlite3.Error as error:
        raise SnapshotError(f"{source} cannot be copied: {error}") from error
    finally:
        draft.unlink(missing_ok=True)
        os.close(descriptor)


def remove_drafts(target: Path) -> None:
    """Remove the copies that killed processes left alongside `target`."""
    prefix = _draft_prefix(target)
    for draft in target.parent.glob(f"{prefix}*"):
        if draft.name.endswith("-journal"):
            continue
        with suppress(OSError):
            descriptor = os.open(draft, os.O_RDONLY | os.O_CLOEXEC)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                draft.with_name(f"{draft.name}-journal").unlink(missing_ok=True)
                draft.unlink()
            finally:
                os.close(descriptor)


def _draft_prefix(target: Path) -> str:
    return f".{target.name}.draft-"


def inspect(file: Path) -> Contents:
    """Return the contents of a valid file, of this version of Ebb or an earlier one. Raise SnapshotError."""
    if not is_sqlite(file):
        raise SnapshotError(f"{file} is not a database of conversations")
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
            missing = _names_of(schema) - _names(connection)
            if lost := sorted(name for name, kind in missing if kind != "trigger"):
                raise SnapshotError(f"{file} is damaged: missing {', '.join(lost)}")
            (conversations,) = connection.execute("SELECT count(*) FROM conversation").fetchone()
            (messages,) = connection.execute("SELECT count(*) FROM message").fetchone()
    except sqlite3.Error as error:
        raise SnapshotError(f"{file} is not a database of conversations: {error}") from error
    return Contents(schema, conversations, messages, tuple(sorted(name for name, _ in missing)))


def quick_check(file: Path, seconds: float) -> list[str] | None:
    """List the damage in a database, which a server may be using; None if that takes longer than `seconds`.

    Raise DatabaseError if the file cannot be read at all.
    """
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            return find_damage(connection, seconds)
    except sqlite3.Error as error:
        raise DatabaseError(str(error)) from error


@cache
def _names_of(version: int) -> frozenset[tuple[str, str]]:
    """Return the names and kinds of a schema's tables, indexes, views and triggers.

    The integrity check of a file with a virtual table does not notice missing ones.
    """
    with closing(sqlite3.connect(":memory:")) as connection:
        add_functions(connection)
        for script in migrations()[:version]:
            connection.executescript(script)
        if version >= OWN_WORDS:
            # Removed in the background.
            connection.execute("DROP TABLE search_text")
        return _names(connection)


def _names(connection: sqlite3.Connection) -> frozenset[tuple[str, str]]:
    return frozenset(connection.execute("SELECT name, type FROM sqlite_schema"))


def is_sqlite(file: Path) -> bool:
    """Return whether a file begins like a database. Raise SnapshotError if it cannot be read."""
    try:
        with file.open("rb") as opened:
            return opened.read(len(SQLITE_MAGIC)) == SQLITE_MAGIC
    except OSError as error:
        raise SnapshotError(f"{file}: {error.strerror or error}") from error


def put(draft: Path, target: Path) -> None:
    """Rename `draft` to `target` durably. An existing file is replaced atomically."""
    os.replace(draft, target)
    sync_folder(target.parent)


def _open(file: Path) -> sqlite3.Connection:
    # Not `ro`: reading a write-ahead log needs an index file, which may have to be created.
    return sqlite3.connect(f"{file.absolute().as_uri()}?mode=rw", uri=True, timeout=BUSY_SECONDS)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
