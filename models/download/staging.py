"""Atomic creation of folders: a folder appears complete or not at all, and concurrent creators wait for each other."""

import contextlib
import errno
import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from models.errors import DiskFullError

Progress = Callable[[str], None]
"""Callback that receives one line for the user per long step."""

_NO_ROOM = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EEXIST}
)


def private_folder(path: Path) -> None:
    """Create the folder `path` for this user only, unless it exists. Raise DiskFullError."""
    with no_room_errors(path):
        path.mkdir(mode=0o700, parents=True, exist_ok=True)


@contextlib.contextmanager
def exclusive(target: Path, progress: Progress) -> Iterator[None]:
    """Hold the lock for creating `target`, across processes and threads.

    The lock is released even if the process dies. `progress` is called if the lock is already held.
    """
    with no_room_errors(target.parent):
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(target.parent / f".{target.name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress(f"Waiting for another process that is preparing {target.name}")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def staged(target: Path) -> Iterator[Path]:
    """Yield an empty folder alongside `target`, and rename it to `target` if the body succeeds.

    Call under `exclusive(target)`. Remnants of an interrupted run are removed first, and nothing remains after a
    failure. Raise DiskFullError if the file system rejects a write for lack of space or rights.
    """
    partial = target.parent / f".{target.name}.partial"
    with no_room_errors(target.parent):
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        try:
            yield partial
            for file in partial.iterdir():
                _sync(file)
            _sync(partial)
            partial.rename(target)
            _sync(target.parent)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise


@contextlib.contextmanager
def no_room_errors(place: Path) -> Iterator[None]:
    """Convert operating system errors about space and rights to DiskFullError. Other errors propagate."""
    try:
        yield
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        raise no_room(place, error.strerror or str(error)) from error


def no_room(place: Path, reason: str) -> DiskFullError:
    """Create the error to raise when `place` cannot take more data."""
    return DiskFullError(
        f"{place} cannot store the model ({reason}): free some space there, or choose another --cache-dir"
    )


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
