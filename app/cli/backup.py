"""`ebb backup` and `ebb restore`: copy the conversations to a file, and put them back from one."""

import os
import sys
from pathlib import Path

from app.config.settings import Settings, lock_state_dir
from app.config.sizes import format_size
from app.storage.sqlite.restoration import complete_restore, is_restore_pending, replace_database
from app.storage.sqlite.snapshot import Contents, SnapshotError, copied, inspect, is_sqlite, put


def backup(settings: Settings, file: Path) -> int:
    """Copy the conversations to `file`. A server may run and write while they are copied.

    Replaces an earlier backup of that name, but no other file. Raise SnapshotError.
    """
    _check_file(settings)
    database = settings.database
    _wait_for_no_restore(settings)
    if not database.exists():
        raise SnapshotError(
            f"{database} does not exist: there are no conversations yet (choose another directory with --state-dir)"
        )
    if file.exists():
        if file.is_dir() or not is_sqlite(file):
            raise SnapshotError(f"{file} exists and is not a backup; choose another name")
        if file.samefile(database):
            raise SnapshotError(f"{file} is the database of the conversations itself; choose another name")
    for log in (file.with_name(f"{file.name}-wal"), file.with_name(f"{file.name}-journal")):
        if log.exists() and log.stat().st_size:
            # SQLite would replay the log into the new file.
            raise SnapshotError(f"{log} exists, so {file} is in use or its last writer was killed; choose another name")
    try:
        with copied(database, file) as (draft, contents):
            size = format_size(draft.stat().st_size)
            put(draft, file)
    except OSError as error:
        raise SnapshotError(f"{file}: {error.strerror or error}") from error
    print(f"{file}: {contents}, {size}")
    _warn_of_missing(contents)
    return 0


def restore(settings: Settings, file: Path) -> int:
    """Replace the conversations with those of `file` and keep the former ones in another file. No server may run.

    Raise SnapshotError.
    """
    _check_file(settings)
    inspect(file)
    settings.make_directories()
    lock = lock_state_dir(settings.state_dir)
    if lock is None:
        raise SnapshotError(
            f"a server is using {settings.state_dir}: stop it (Ctrl-C or SIGTERM), restore, then start it again"
        )
    try:
        complete_restore(settings.database)
        with copied(file, settings.database) as (draft, contents):
            kept = replace_database(settings.database, draft)
    except OSError as error:
        raise SnapshotError(f"{settings.database}: {error.strerror or error}") from error
    finally:
        os.close(lock)
    print(f"{settings.database}: {contents}")
    _warn_of_missing(contents)
    if kept is not None:
        print("API keys are those of the backup: check `ebb keys list` before you start the server", file=sys.stderr)
        print(f"the previous conversations are kept in {kept}", file=sys.stderr)
    return 0


def _warn_of_missing(contents: Contents) -> None:
    if contents.missing:
        text = f"all chats are there, but triggers are missing ({', '.join(contents.missing)})"
        print(
            f"{text}: start the server once, which makes the triggers that an early version left out", file=sys.stderr
        )


def _wait_for_no_restore(settings: Settings) -> None:
    """Complete the restore of a killed process. Raise SnapshotError while a restore is in progress."""
    if not is_restore_pending(settings.database):
        return
    lock = lock_state_dir(settings.state_dir)
    if lock is None:
        raise SnapshotError(f"the conversations in {settings.state_dir} are being restored: try again in a moment")
    try:
        complete_restore(settings.database)
    finally:
        os.close(lock)


def _check_file(settings: Settings) -> None:
    if settings.database_url:
        raise SnapshotError("The conversations are in PostgreSQL (--database-url): use pg_dump and pg_restore")
