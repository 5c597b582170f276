"""Atomic replacement of the database by a restored one, even if the process is killed.

The conversations are in two files, the database and its write-ahead log, so no single rename replaces both. Instead, a
plan is written atomically. Until then the old state is valid. From then on the new state is, because the next process
that locks the state directory completes the plan before it uses the database.

    draft whole and synced ──> plan written ──> old log, then old database renamed ──> draft renamed ──> plan removed
                                     └── the point of no return

The old files are renamed, not linked, so no later process can write to them.
"""

import json
import os
import time
from contextlib import suppress
from pathlib import Path

LOG, INDEX = "-wal", "-shm"

_COMPANIONS = (INDEX, "-mark")
"""Suffixes of files that describe one database and are useless for any other."""


def replace_database(database: Path, draft: Path) -> Path | None:
    """Replace `database` with `draft`, a synced database in the same folder.

    Return the path to which the old database was moved, or None if there was none. The caller must hold the lock of the
    state directory.
    """
    aside = _free_name(database)
    # Only `complete_restore` moves or removes a file of this name.
    os.rename(draft, _restored(database))
    _write_plan(_plan_of(database), aside.name)
    complete_restore(database)
    return aside if aside.exists() else None


def is_restore_pending(database: Path) -> bool:
    """Return whether a restore is in progress or was interrupted."""
    return _plan_of(database).exists()


def complete_restore(database: Path) -> bool:
    """Complete a restore that has a plan. Return False if there is none, and delete a draft that no plan covers.

    The caller must hold the lock of the state directory. A killed process may already have done any of the steps.
    """
    folder, restored = database.parent, _restored(database)
    try:
        aside = folder / str(json.loads(_plan_of(database).read_text(encoding="utf-8"))["aside"])
    except FileNotFoundError:
        restored.unlink(missing_ok=True)
        return False
    if restored.exists():
        # SQLite would replay the old database's log into the new database.
        _rename(_with(database, LOG), _with(aside, LOG))
        for ending in _COMPANIONS:
            _with(database, ending).unlink(missing_ok=True)
        _rename(database, aside)
        os.rename(restored, database)
        sync_folder(folder)
    _plan_of(database).unlink()
    sync_folder(folder)
    return True


def sync_folder(folder: Path) -> None:
    """Make renames in `folder` durable if the file system supports that."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _rename(old: Path, new: Path) -> None:
    if old.exists():
        os.rename(old, new)


def _with(file: Path, ending: str) -> Path:
    return file.with_name(file.name + ending)


def _plan_of(database: Path) -> Path:
    return database.with_name(f".{database.name}.restoring")


def _restored(database: Path) -> Path:
    return database.with_name(f".{database.name}.restored")


def _write_plan(path: Path, aside: str) -> None:
    draft = path.with_name(f"{path.name}.new")
    with draft.open("w", encoding="utf-8") as file:
        json.dump({"aside": aside}, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(draft, path)
    sync_folder(path.parent)


def _free_name(database: Path) -> Path:
    stamp = time.strftime("%Y%m%d-%H%M%S")
    name = database.with_name(f"{database.name}.before-{stamp}")
    number = 1
    while name.exists() or _with(name, LOG).exists():
        number += 1
        name = database.with_name(f"{database.name}.before-{stamp}-{number}")
    return name
