"""The swap of a restored database into its place, which no kill can leave half done.

The conversations are two files, the database and its write-ahead log, so no single rename replaces both. A plan that
names all parts is written in one step. Before that the old state is in place. Afterwards the new one is as good as in
place: the next process that takes the lock of the state directory completes the plan before it looks at anything.

    draft whole and synced ──> plan written ──> old log, then old database renamed ──> draft renamed ──> plan removed
                                     └── the point of no return

The old files are renamed, not linked, so nothing that runs later can write into them.
"""

import json
import os
import time
from contextlib import suppress
from pathlib import Path

LOG, INDEX = "-wal", "-shm"

_BESIDE = (INDEX, "-mark")
"""Endings of files that describe a database and are worthless for another one."""


def replace_database(database: Path, draft: Path) -> Path | None:
    """Put `draft`, a synced database in the same folder, in the place of `database`. Return where the old one is kept.

    To be called with the state directory locked.
    """
    aside = _free_name(database)
    # Under this name nothing but the plan disposes of it.
    os.rename(draft, _restored(database))
    _write_plan(_plan_of(database), aside.name)
    complete_restore(database)
    return aside if aside.exists() else None


def is_restore_pending(database: Path) -> bool:
    """Return whether a restore is under way, or was killed in the middle."""
    return _plan_of(database).exists()


def complete_restore(database: Path) -> bool:
    """Complete the restore of a process that was killed; return whether there was one.

    To be called with the state directory locked. Every step may have been done before.
    """
    folder, restored = database.parent, _restored(database)
    try:
        aside = folder / str(json.loads(_plan_of(database).read_text(encoding="utf-8"))["aside"])
    except FileNotFoundError:
        restored.unlink(missing_ok=True)
        return False
    if restored.exists():
        # A log alongside a database that it does not belong to would be replayed into it.
        _rename(_with(database, LOG), _with(aside, LOG))
        for ending in _BESIDE:
            _with(database, ending).unlink(missing_ok=True)
        _rename(database, aside)
        os.rename(restored, database)
        sync_folder(folder)
    _plan_of(database).unlink()
    sync_folder(folder)
    return True


def sync_folder(folder: Path) -> None:
    """Make renames in `folder` last, where the file system can."""
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
