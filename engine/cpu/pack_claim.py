"""The right to pack weights: one process packs them, and the others wait for the file that it keeps."""

import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

POLL_SECONDS: Final = 0.05


class PackClaim:
    """A claim on one pack, across processes and threads. A process that dies loses it.

    The claim is a lock on a file, which its holder deletes at the release. So a waiting process knows from the file
    whether the holder has released the claim or has died.
    """

    def __init__(self, path: Path) -> None:
        """path: a file that only claims on this pack have. Nothing is created."""
        self._path = path
        self._descriptor: int | None = None

    @property
    def is_held(self) -> bool:
        """Whether this object holds the claim."""
        return self._descriptor is not None

    def take(self, seconds: float, wait: Callable[[float], bool], on_wait: Callable[[], None]) -> bool:
        """Take the claim, or wait until its holder has released it.

        A claim is taken at once if nothing holds it, and after a wait if its holder has died.

        seconds: longest wait. wait: waits so long, and returns whether to give up. on_wait: called before a wait.

        Return whether this waited. Raise OSError.
        """
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if has_waited := not _is_locked(descriptor):
                on_wait()
                deadline = time.monotonic() + seconds
                while not _is_locked(descriptor):
                    if time.monotonic() >= deadline or wait(POLL_SECONDS):
                        return True
            if os.fstat(descriptor).st_nlink:
                self._descriptor, descriptor = descriptor, -1
            return has_waited
        finally:
            if descriptor >= 0:
                os.close(descriptor)

    def release(self) -> None:
        """Give the claim up, if this object holds it."""
        if self._descriptor is not None:
            self._path.unlink(missing_ok=True)
            os.close(self._descriptor)
            self._descriptor = None


def _is_locked(descriptor: int) -> bool:
    """Lock a file for this process, and return whether that succeeded."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
