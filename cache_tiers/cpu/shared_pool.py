"""The CPU tier's pool in shared memory, for device blocks that belong to other processes."""

import mmap
import os
import secrets
from dataclasses import dataclass
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

    def touch(self) -> None:
        """Allocate all pages now, so that no copy faults later. Raise OSError if there are too few."""
        with (_FOLDER / self.name).open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, self.nbytes)

    def map(self) -> memoryview:
        """Map the whole pool, writable, format 'B', until the view is released. Raise OSError if it does not exist."""
        with (_FOLDER / self.name).open("r+b") as file:
            return memoryview(mmap.mmap(file.fileno(), self.nbytes))
