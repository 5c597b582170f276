"""`ebb backup` and `ebb restore`: the conversations in one file, and back."""

import os
import sys
import time
from pathlib import Path

from app.config import Settings
from app.sizes import format_size
from app.snapshot import SnapshotError, copied, inspect, is_sqlite, put
from app.state_lock import lock_state_dir


def backup(settings: Settings, file: Path) -> int:
    """Copy the conversations to `file`; a server may run and write. An earlier backup of that name is replaced, any
    other file is not. Raises SnapshotError."""
    database = settings.database
    if not database.exists():
        raise SnapshotError(
            f"{database} does not exist: there are no conversations yet (--state-dir names another place)"
        )
    if file.exists():
        if file.is_dir() or not is_sqlite(file):
            raise SnapshotError(f"{file} exists and is no backup; choose another name")
        if file.samefile(database):
            raise SnapshotError(f"{file} is where the conversations are; choose another name")
    try:
        with copied(database, file) as (draft, contents):
            size = format_size(draft.stat().st_size)
            put(draft, file)
    except OSError as error:
        raise SnapshotError(f"{file}: {error.strerror or error}") from error
    print(f"{file}: {contents}, {size}")
    return 0


def restore(settings: Settings, file: Path) -> int:
    """Put the conversations of `file` in place of those that are there, which are kept beside. Not while a server runs.

    Raises SnapshotError.
    """
    inspect(file)
    settings.make_directories()
    lock = lock_state_dir(settings.state_dir)
    if lock is None:
        raise SnapshotError(
            f"a server works in {settings.state_dir}: stop it (Ctrl-C, or SIGTERM), restore, and start it again"
        )
    try:
        with copied(file, settings.database) as (draft, contents):
            kept = _set_aside(settings.database)
            put(draft, settings.database)
    except OSError as error:
        raise SnapshotError(f"{settings.database}: {error.strerror or error}") from error
    finally:
        os.close(lock)
    print(f"{settings.database}: {contents}")
    if kept is not None:
        print("keys are as they were then: see ebb keys list before you start the server", file=sys.stderr)
        print(f"what was there before is {kept}", file=sys.stderr)
    return 0


def _set_aside(database: Path) -> Path | None:
    """Give the present file a second name; the first one stays until it is replaced, so that it is never missing.

    The log of what a killed server wrote last goes with it. SQLite is not asked to look: it would throw the log of a
    damaged file away.
    """
    aside = _free_name(database)
    log, index = (database.with_name(database.name + ending) for ending in ("-wal", "-shm"))
    for part, name in ((database, aside), (log, aside.with_name(f"{aside.name}-wal"))):
        if part.exists():
            os.link(part, name)
    # Before the new file is there: a log beside a file that it is not of would be written into it.
    log.unlink(missing_ok=True)
    index.unlink(missing_ok=True)
    return aside if aside.exists() else None


def _free_name(database: Path) -> Path:
    stamp = time.strftime("%Y%m%d-%H%M%S")
    name = database.with_name(f"{database.name}.before-{stamp}")
    number = 1
    while name.exists():
        number += 1
        name = database.with_name(f"{database.name}.before-{stamp}-{number}")
    return name
