"""A folder appears whole or not at all, and two makers of the same folder wait for each other."""

import contextlib
import errno
import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from models.errors import DiskFullError

Progress = Callable[[str], None]
"""Hears one line for the user per long step."""

_NO_ROOM = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EEXIST}
)


def private_folder(path: Path) -> None:
    """Make `path` for this user alone, where it is not there yet. Raises DiskFullError."""
    with no_room_errors(path):
        path.mkdir(mode=0o700, parents=True, exist_ok=True)


@contextlib.contextmanager
def exclusive(target: Path, progress: Progress) -> Iterator[None]:
    """Hold the lock for making `target`, across processes and threads; it is freed also by a process that dies."""
    with no_room_errors(target.parent):
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(target.parent / f".{target.name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress(f"Waiting for another process that is making {target.name}")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def staged(target: Path) -> Iterator[Path]:
    """Give an empty folder beside `target`; if the body succeeds, it becomes `target` in one rename.

    Call it under `exclusive(target)`. What an interrupted run left behind is removed first. After a failure nothing
    stays. Raises DiskFullError when the place takes no more bytes.
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
    """Turn the system's errors about space and rights into DiskFullError; the others pass."""
    try:
        yield
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        raise no_room(place, error.strerror or str(error)) from error


def no_room(place: Path, reason: str) -> DiskFullError:
    """The error to raise when `place` takes no more bytes."""
    return DiskFullError(
        f"{place} cannot take the model ({reason}): free some space there or choose another --cache-dir"
    )


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
