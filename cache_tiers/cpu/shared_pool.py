"""Host memory that other processes can map: the CPU tier's pool where the device blocks are another process's."""

import mmap
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_FOLDER: Final = Path("/dev/shm")
_PREFIX: Final = "lmcache_l1_pool_"
"""LMCache puts it before a name that lacks it."""


class SharedMemoryError(Exception):
    """There is not as much shared memory as was asked for; the message says where, and how much there is."""


@dataclass(frozen=True, slots=True)
class SharedPool:
    """Shared memory by its name. Whoever made it removes it, also when that process is killed: the resource tracker of
    multiprocessing sees to that."""

    name: str
    nbytes: int

    @classmethod
    def named(cls, nbytes: int) -> "SharedPool":
        """One that nobody has made yet."""
        return cls(f"{_PREFIX}ebb_{os.getpid()}_{secrets.token_hex(4)}", nbytes)

    def check_room(self) -> None:
        """Raise SharedMemoryError unless so much can be made now: memory that is not there kills whoever touches it."""
        room = os.statvfs(_FOLDER)
        free = room.f_bavail * room.f_frsize
        if free < self.nbytes:
            raise SharedMemoryError(
                f"{_FOLDER} has {free >> 20} MiB left, and the CPU tier of several processes needs {self.nbytes >> 20} "
                "MiB there; give --cpu-kv-memory less, or the container more (docker: --shm-size)"
            )

    def touch(self) -> None:
        """Take all its pages now, so that no copy faults later. Raises OSError if there are not as many."""
        with (_FOLDER / self.name).open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, self.nbytes)

    def map(self) -> memoryview:
        """All of it, writable, format 'B'; mapped as long as the view lives. Raises OSError if it does not exist."""
        with (_FOLDER / self.name).open("r+b") as file:
            return memoryview(mmap.mmap(file.fileno(), self.nbytes))
