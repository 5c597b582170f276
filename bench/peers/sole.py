"""Lock that allows one benchmark at a time: two would compete for the processors and the memory."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class BusyError(Exception):
    """Another benchmark runs on this machine."""


@contextmanager
def sole_run(folder: Path) -> Iterator[None]:
    """Hold the lock of benchmarks in `folder`; a process that dies gives it back. Raise BusyError."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder / ".run.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BusyError("another benchmark is running on this machine. Wait until it ends") from None
        yield
    finally:
        os.close(descriptor)
