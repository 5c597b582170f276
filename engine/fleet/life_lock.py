"""A lock that a process holds for as long as it lives, so that another one notices its death at once.

The kernel closes the sockets of a killed process after it has freed the process's memory, which takes 100 ms and more
with a model in it. Robust mutexes are released before that (`robust_list` in the kernel's documentation).
"""

import ctypes
import mmap
import os
from typing import Any, Final

_PTHREAD_MUTEX_ROBUST: Final = 1
_PTHREAD_PROCESS_SHARED: Final = 1
_ATTRIBUTE_BYTES: Final = 64
"""More than any C library's pthread_mutexattr_t needs."""


class LifeLock:
    """A robust mutex in memory that a descriptor leads to.

    The thread that calls `hold` keeps it to the end of its process. `wait` returns once that thread is gone.

    descriptor: file descriptor of the memory, to be inherited by the process that holds the lock. The caller closes it.
    """

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._memory = mmap.mmap(descriptor, mmap.PAGESIZE)
        self._mutex = ctypes.c_char.from_buffer(self._memory)
        self._threads: Any = ctypes.CDLL(None, use_errno=True)

    @classmethod
    def make(cls) -> "LifeLock | None":
        """Make a lock that no process holds. Return None where the system has no such lock."""
        if not hasattr(os, "memfd_create") or not hasattr(ctypes.CDLL(None), "pthread_mutexattr_setrobust"):
            return None
        descriptor = os.memfd_create("life-lock")
        os.ftruncate(descriptor, mmap.PAGESIZE)
        lock = cls(descriptor)
        attributes = ctypes.create_string_buffer(_ATTRIBUTE_BYTES)
        lock._call("pthread_mutexattr_init", attributes)
        lock._call("pthread_mutexattr_setpshared", attributes, _PTHREAD_PROCESS_SHARED)
        lock._call("pthread_mutexattr_setrobust", attributes, _PTHREAD_MUTEX_ROBUST)
        lock._call("pthread_mutex_init", ctypes.byref(lock._mutex), attributes)
        return lock

    def hold(self) -> None:
        """Take the lock for the calling thread, which lives as long as the process."""
        self._call("pthread_mutex_lock", ctypes.byref(self._mutex))
        # The kernel finds the lock in the memory of the dying process. An interpreter that ends must not unmap it.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._memory))

    def wait(self) -> None:
        """Wait until the thread that holds the lock is gone."""
        # EOWNERDEAD is the expected result. Whatever it is, the lock had become free.
        self._threads.pthread_mutex_lock(ctypes.byref(self._mutex))
        self._threads.pthread_mutex_unlock(ctypes.byref(self._mutex))

    def _call(self, name: str, *arguments: object) -> None:
        if error := getattr(self._threads, name)(*arguments):
            raise OSError(error, f"{name}: {os.strerror(error)}")
