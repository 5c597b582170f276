"""Host memory that becomes resident a little ahead of its use.

A process then holds the memory that it has used, and not the most that it may use. Copies and steps still meet pages
that are there, since a thread allocates them beforehand.
"""

import ctypes
import sys
import threading
import time
from mmap import MAP_ANONYMOUS, MAP_PRIVATE, mmap
from typing import Final

HUGE_PAGE: Final = 2 << 20

AHEAD: Final = 32 << 20
"""Bytes beyond the used ones that are made resident."""

_PAUSE_SECONDS: Final = 0.001

# Linux 5.14 and later allocate pages on request. The module mmap has no name for this advice, and keeps the GIL.
_POPULATE_WRITE: Final = 23
_HUGE_PAGES: Final = 14


class GrowingMemory:
    """Private memory of zeros, used from its beginning on. Thread-safe.

    Bytes that are not resident yet can be used all the same: each of their pages becomes resident when it is touched.

    view: the memory, writable, format 'B', which begins with a huge page. The memory exists for as long as this view
        or the object does.
    address: the address of its first byte.
    """

    def __init__(self, nbytes: int) -> None:
        """Reserve `nbytes` bytes, and begin to make the first ones resident."""
        mapped = mmap(-1, nbytes + HUGE_PAGE, flags=MAP_PRIVATE | MAP_ANONYMOUS)
        begin = -ctypes.addressof(ctypes.c_ubyte.from_buffer(mapped)) % HUGE_PAGE
        self.view = memoryview(mapped)[begin : begin + nbytes]
        self.address = ctypes.addressof(ctypes.c_ubyte.from_buffer(mapped)) + begin
        self._mapped = mapped
        self._nbytes = nbytes
        self._library = ctypes.CDLL(None)
        self._lock = threading.Lock()
        self._resident = 0
        self._growing: threading.Thread | None = None
        self.use(0)

    def use(self, end: int) -> None:
        """Note that the bytes below `end` are used from now on. Return at once."""
        if end + AHEAD // 2 <= self._resident or self._resident == self._nbytes:
            return
        with self._lock:
            begin = self._resident
            self._resident = min(self._nbytes, max(begin, -(-(end + AHEAD) // HUGE_PAGE) * HUGE_PAGE))
            if self._resident > begin:
                stretch = (begin, self._resident)
                self._growing = threading.Thread(target=self._allocate, args=stretch, name="grow-memory", daemon=True)
                self._growing.start()

    def settle(self) -> None:
        """Wait until all bytes that `use` has asked for are resident."""
        if self._growing is not None:
            self._growing.join()

    def _allocate(self, begin: int, end: int) -> None:
        """Make a stretch resident, in pieces, between which steps get the cores.

        The pages are huge where the system has them: fewer faults, and faster reads. The kernel may have to compact
        its memory for them, which takes long, but no step waits for this thread.
        """
        if sys.platform == "linux":
            self._advise(begin, end, _HUGE_PAGES)
            for at in range(begin, end, HUGE_PAGE):
                self._advise(at, min(at + HUGE_PAGE, end), _POPULATE_WRITE)
                time.sleep(_PAUSE_SECONDS)

    def _advise(self, begin: int, end: int, advice: int) -> None:
        """Call madvise. A kernel that does not know the advice refuses it, and pages come when they are touched."""
        self._library.madvise(ctypes.c_void_p(self.address + begin), ctypes.c_size_t(end - begin), advice)
