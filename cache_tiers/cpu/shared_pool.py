"""The CPU tier's pool in shared memory, for device blocks that belong to other processes."""

import mmap
import os
import secrets
from dataclasses import dataclass
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Final

_FOLDER: Final = Path("/dev/shm")
_PREFIX: Final = "lmcache_l1_pool_"
"""The prefix that LMCache adds to a name without it."""


class SharedMemoryError(Exception):
    """Too little free shared memory. The message names the folder and the space left."""


@dataclass(frozen=True, slots=True)
class SharedPool:
    """A named piece of shared memory.

    The process that created it removes it. If that process is killed, multiprocessing's resource tracker does.
    """

    name: str
    nbytes: int

    @classmethod
    def named(cls, nbytes: int) -> "SharedPool":
        """Return a pool under a new name, without creating it."""
        return cls(f"{_PREFIX}ebb_{os.getpid()}_{secrets.token_hex(4)}", nbytes)

    def check_room(self) -> None:
        """Raise SharedMemoryError unless the pool fits now. A process that touches missing memory is killed."""
        room = os.statvfs(_FOLDER)
        free = room.f_bavail * room.f_frsize
        if free < self.nbytes:
            raise SharedMemoryError(
                f"{_FOLDER} has {free >> 20} MiB free, but the CPU tier that several processes share needs "
                f"{self.nbytes >> 20} MiB there. Lower --cpu-kv-memory, or give the container more shared memory "
                "(docker: --shm-size)."
            )

    def create(self) -> memoryview:
        """Create the pool and allocate all of its pages. Return it mapped. Raise OSError if there are too few."""
        descriptor = os.open(_FOLDER / self.name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        os.close(descriptor)
        resource_tracker.register(f"/{self.name}", "shared_memory")
        try:
            self.touch()
            return self.map()
        except BaseException:
            self.remove()
            raise

    def remove(self) -> None:
        """Remove a pool that `create` has created. The last view frees the memory."""
        (_FOLDER / self.name).unlink(missing_ok=True)
        resource_tracker.unregister(f"/{self.name}", "shared_memory")

    def touch(self) -> None:
        """Allocate all pages now, so that no copy faults later. Raise OSError if there are too few."""
        with (_FOLDER / self.name).open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, self.nbytes)

    def map(self) -> memoryview:
        """Map the whole pool, writable, format 'B', until the view is released. Raise OSError if it does not exist."""
        with (_FOLDER / self.name).open("r+b") as file:
            return memoryview(mmap.mmap(file.fileno(), self.nbytes))
