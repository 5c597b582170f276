"""A lock that a process holds for as long as it lives, so that another one notices its death at once.

The kernel closes the sockets of a killed process after it has freed the process's memory, which takes 100 ms and more
with a model in it. Robust mutexes are released before that (`robust_list` in the kernel's documentation).
"""

import asyncio
import ctypes
import errno
import mmap
import os
import threading
import time
from contextlib import suppress
from typing import Any, Final

LOOK_SECONDS: Final = 1.0
"""Time between two looks of a waiting thread at whether the notice is still wanted."""

_PTHREAD_MUTEX_ROBUST: Final = 1
_PTHREAD_PROCESS_SHARED: Final = 1
_ATTRIBUTE_BYTES: Final = 64
"""More than any C library's pthread_mutexattr_t needs."""


class _Time(ctypes.Structure):
    """The C library's timespec."""

    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class LivenessLock:
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
    def make(cls) -> "LivenessLock | None":
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

    async def released(self, thread: str) -> None:
        """Wait until the thread that holds the lock is gone.

        thread: name of the thread that waits. A cancelled call ends it, within LOOK_SECONDS.
        """
        loop = asyncio.get_running_loop()
        noticed, is_unwanted = asyncio.Event(), threading.Event()

        def watch() -> None:
            if self.wait(is_unwanted):
                # The loop may be closed by now.
                with suppress(RuntimeError):
                    loop.call_soon_threadsafe(noticed.set)

        threading.Thread(target=watch, name=thread, daemon=True).start()
        try:
            await noticed.wait()
        finally:
            is_unwanted.set()

    def wait(self, is_unwanted: threading.Event) -> bool:
        """Wait until the thread that holds the lock is gone, and return True.

        Return False within LOOK_SECONDS of the moment at which `is_unwanted` is set.
        """
        mutex = ctypes.byref(self._mutex)
        # No signal and no other thread can end the wait for a mutex, but a time limit can.
        while not is_unwanted.is_set():
            if self._threads.pthread_mutex_timedlock(mutex, ctypes.byref(_in(LOOK_SECONDS))) != errno.ETIMEDOUT:
                # EOWNERDEAD is the expected result. Whatever it is, the lock had become free.
                self._threads.pthread_mutex_unlock(mutex)
                return True
        return False

    def _call(self, name: str, *arguments: object) -> None:
        if error := getattr(self._threads, name)(*arguments):
            raise OSError(error, f"{name}: {os.strerror(error)}")


def _in(seconds: float) -> _Time:
    """Return the time after `seconds` on the system's clock, which is that of time limits of a mutex."""
    whole, nanoseconds = divmod(time.time_ns() + int(seconds * 1e9), 10**9)
    return _Time(whole, nanoseconds)


async def death_noticed(lock: LivenessLock | None, thread: str) -> None:
    """Wait for the death of the process that holds a lock; forever without a lock. See `LivenessLock.released`."""
    await (asyncio.Event().wait() if lock is None else lock.released(thread))
