"""One value as a file: a page with the header, then the payload, rounded up to whole pages.

Nothing is synchronized with the medium: a power cut may leave a file of the right size with other bytes, which the seal
shows. Values are read and written past the page cache where the file system and the payload's length allow it: that
takes half the CPU time, and leaves the page cache to the weights.
"""

import errno
import mmap
import os
import stat
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from typing import Final

from cache_tiers.disk.folder import DRAFT
from cache_tiers.disk.stored_value import StoredValue, stored_value_of, write_times
from cache_tiers.lower.backend import Value
from cache_tiers.lower.sealed_value import HEADER_BYTES, Reject

PAGE: Final = 4096
"""Multiple of the block of every medium, to which direct reads and writes are aligned."""


_DENIED: Final = frozenset({errno.EACCES, errno.EPERM})
"""Errors of opening a file of another user."""
_CANNOT_RESERVE: Final = frozenset({errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS})
"""Errors of a file system that reserves no bytes, as the C library emulates it past the page cache."""
_TIME_SLACK_SECONDS: Final = 5.0


def file_bytes(payload_bytes: int) -> int:
    """Return the size of the file of a value in bytes."""
    return PAGE + payload_bytes + -payload_bytes % PAGE


class ValueFiles:
    """Files of values, as one thread reads and writes them.

    changing_times: see `DiskFolder`.
    direct: whether the file system allows reads and writes past the page cache.
    """

    def __init__(self, changing_times: Callable[[], AbstractContextManager[None]], *, direct: bool) -> None:
        self._changing_times = changing_times
        self._direct = direct
        pages = memoryview(mmap.mmap(-1, 2 * PAGE))
        self._header, self._padding = pages[:PAGE], pages[PAGE:]

    def read(self, path: str, value: Value) -> int | Reject | None:
        """Fill a value. Return as `TierSession.read`. Raise OSError."""
        try:
            return self._read(path, value)
        except OSError as error:
            if not self._is_refused_as_direct(error):
                raise
        return self._read(path, value)

    def write(self, path: str, value: Value) -> StoredValue:
        """Store a value, whole or not at all, in place of any former one, whose promise continues. Raise OSError."""
        try:
            return self._write(path, value)
        except OSError as error:
            if not self._is_refused_as_direct(error):
                raise
        return self._write(path, value)

    def _is_refused_as_direct(self, error: OSError) -> bool:
        """Return whether the file system may take the same call through the page cache, which is used from then on.

        A probe of one page does not show what a file system demands of longer calls.
        """
        was_direct = self._direct and error.errno == errno.EINVAL
        self._direct = self._direct and not was_direct
        return was_direct

    def _read(self, path: str, value: Value) -> int | Reject | None:
        try:
            # A read must not change the time of access, which states a promise.
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOATIME | self._flags(value.payload)
            # Without O_NONBLOCK, a pipe would hold the thread for ever.
            file = os.open(path, flags | os.O_NONBLOCK)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno in _DENIED or _is_no_file(path):
                return Reject.UNREADABLE
            raise
        try:
            status = os.fstat(file)
            if not stat.S_ISREG(status.st_mode):
                return Reject.UNREADABLE
            if status.st_size != file_bytes(value.payload.nbytes):
                return Reject.LENGTH
            if os.preadv(file, self._parts(value.payload), 0) != file_bytes(value.payload.nbytes):
                return Reject.LENGTH
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            return Reject.UNREADABLE
        finally:
            os.close(file)
        memoryview(value.header)[:] = self._header[:HEADER_BYTES]
        return HEADER_BYTES + value.payload.nbytes

    def _write(self, path: str, value: Value) -> StoredValue:
        draft = f"{path}.{os.urandom(8).hex()}{DRAFT}"
        self._header[:HEADER_BYTES] = value.header
        nbytes = file_bytes(value.payload.nbytes)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | self._flags(value.payload)
        file = os.open(draft, flags, 0o600)
        try:
            try:
                _reserve(file, nbytes)
                if os.pwritev(file, self._parts(value.payload), 0) != nbytes:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            finally:
                os.close(file)
            stored = StoredValue(time.time(), nbytes)
            with self._changing_times():
                with suppress(FileNotFoundError):
                    former = stored_value_of(os.stat(path), nbytes)
                    if former.is_promised(stored.used_at):
                        stored = former.used(stored.used_at)
                        write_times(draft, stored)
                os.rename(draft, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(draft)
            raise
        return stored

    def _parts(self, payload: memoryview) -> list[memoryview]:
        padding = -payload.nbytes % PAGE
        return [self._header, payload, self._padding[:padding]] if padding else [self._header, payload]

    def _flags(self, payload: memoryview) -> int:
        """Return O_DIRECT if it can be used: lengths must be multiples of the medium's block, as addresses are."""
        return os.O_DIRECT if self._direct and payload.nbytes % PAGE == 0 else 0


def _is_no_file(path: str) -> bool:
    """Return whether something else than a file is at a path: a link, a folder, a pipe. Raise OSError."""
    return not stat.S_ISREG(os.lstat(path).st_mode)


def _reserve(file: int, nbytes: int) -> None:
    """Reserve the bytes of a file. A file system that is full raises OSError here, before any byte is written."""
    try:
        os.posix_fallocate(file, 0, nbytes)
    except OSError as error:
        if error.errno not in _CANNOT_RESERVE:
            raise


def keeps_times(folder: str) -> bool:
    """Return whether files in `folder` keep both of their times, as promises need it. Raise OSError."""
    path = f"{folder}/{os.urandom(8).hex()}{DRAFT}"
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        now = time.time()
        write_times(path, StoredValue(now, 0, now + 1000.0))
        until = stored_value_of(os.stat(path), 0).promised_until
        return abs(until - now - 1000.0) < _TIME_SLACK_SECONDS
    finally:
        os.close(file)
        with suppress(OSError):
            os.unlink(path)


def allows_direct(folder: str) -> bool:
    """Return whether files in `folder` can be written and read past the page cache. Raise OSError."""
    path = f"{folder}/{os.urandom(8).hex()}{DRAFT}"
    page = memoryview(mmap.mmap(-1, PAGE))
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_DIRECT, 0o600)
    except OSError as error:
        if error.errno == errno.EINVAL:
            return False
        raise
    try:
        return os.pwritev(file, [page], 0) == PAGE and os.preadv(file, [page], 0) == PAGE
    except OSError as error:
        if error.errno == errno.EINVAL:
            return False
        raise
    finally:
        os.close(file)
        with suppress(OSError):
            os.unlink(path)
