"""A disk as a tier: one file per value, bounded, with the least recently used values evicted first."""

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from cache_tiers.disk.folder import REFUSALS, DiskFolder
from cache_tiers.disk.index import DiskIndex
from cache_tiers.disk.others import remove_expired
from cache_tiers.disk.room import DiskRoom
from cache_tiers.disk.session import DiskSession
from cache_tiers.disk.space import space_of
from cache_tiers.disk.stored_value import MARK_SECONDS
from cache_tiers.disk.value_file import ValueFiles, allows_direct, keeps_times
from cache_tiers.lower.backend import Refusal, TierClient, TierDescription, TierFaultError, Usage
from cache_tiers.lower.link_speed import LinkMeter
from cache_tiers.tier import BLOCK_TTL_SECONDS, Tier

logger = logging.getLogger(__name__)

DISK: Final = Tier("disk", "the disk")

_FIRST_READ_SECONDS: Final = 0.5
_READ_AGAIN_SECONDS: Final = 60.0
_PAUSE_SECONDS: Final = 0.002
_MISSED_SECONDS: Final = 60.0
HANG_SECONDS: Final = 3.0

DESCRIPTION: Final = TierDescription(
    tier=DISK,
    place="",
    lanes=4,
    write_lanes=2,
    renew_seconds=MARK_SECONDS,
    hang_seconds=HANG_SECONDS,
    gives_promises=True,
)
"""Properties of a folder, apart from its place."""


class DiskBackend:
    """A folder of values, which several processes of one secret may share.

    One of them evicts: it keeps all values below the bound, and `DiskSpace.kept_free` bytes free for everything else.
    """

    def __init__(
        self,
        path: Path,
        max_bytes: int | None = None,
        *,
        kept_free: int | None = None,
        ttl_seconds: float = BLOCK_TTL_SECONDS,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        """Prepare the backend. `open`, or else the first session, is the first to touch the disk, which may hang.

        max_bytes: None stands for `default_bound`. kept_free: None stands for that of the disk.
        check: raises TierFaultError if the folder must not be used.
        """
        self.folder = DiskFolder(path)
        self.description = replace(DESCRIPTION, place=str(path))
        self._max_bytes = max_bytes
        self._kept_free = kept_free
        self._ttl_seconds = ttl_seconds
        self._check = check
        self._is_open = False
        self._lock = threading.Lock()
        self._room: DiskRoom | None = None
        self._reader: threading.Thread | None = None
        self._direct = False
        self._keeps_times = True
        self._read_at = 0.0
        self._missed_at = 0.0
        self._is_read = threading.Event()
        self._closing = threading.Event()

    def open(self) -> None:
        """Create the folder, unless that was done before. Raise OSError or TierFaultError."""
        with self._lock:
            self._open()

    def _open(self) -> None:
        if not self._is_open:
            self._check()
            self.folder.create()
            self._is_open = True

    def connect(self, meter: LinkMeter, client: TierClient) -> DiskSession:
        """See TierBackend. The first session begins to read the folder."""
        with self._lock:
            self._open()
            if self._room is None:
                self._probe_folder()
                index = DiskIndex(self.folder, client.owners, ttl_seconds=self._ttl_seconds)
                self._room = DiskRoom(
                    self.folder,
                    index,
                    self._is_read,
                    max_bytes=self._max_bytes,
                    kept_free=self._kept_free,
                    keeps_times=self._keeps_times,
                )
                self._reader = threading.Thread(target=self._read_first, args=(index,), name="disk-reader", daemon=True)
                self._reader.start()
        # Mostly this is enough. The start does not wait for a slow disk that holds many files.
        self._is_read.wait(_FIRST_READ_SECONDS)
        files = ValueFiles(self.folder.changing_times, direct=self._direct)
        usage = partial(self._usage, self._room)
        return DiskSession(self.folder, self._room, files, meter, fingerprint=client.fingerprint, see_usage=usage)

    def _probe_folder(self) -> None:
        """Find out what the file system of the folder can do. Raise OSError."""
        try:
            self._direct = allows_direct(str(self.folder.path))
            self._keeps_times = keeps_times(str(self.folder.path))
        except OSError as error:
            if error.errno not in REFUSALS:
                raise

    def describe_fault(self, error: OSError | TierFaultError) -> str:
        """See TierBackend."""
        words = error.strerror if isinstance(error, OSError) else None
        return f"the folder of KV blocks cannot be used: {words or error}"

    def _read_first(self, index: DiskIndex) -> None:
        try:
            index.read_folder(lambda: None, clean=self.folder.hold())
        except OSError as error:
            # The next probe tries again, and reports the fault.
            logger.debug("the folder of KV blocks cannot be read: %s", error)
            return
        self._read_at = time.monotonic()
        self._is_read.set()
        with suppress(OSError):
            remove_expired(self.folder.path, self._ttl_seconds)

    def _usage(self, room: DiskRoom) -> Usage:
        """See what others did in the folder, evict, and report. Raise OSError."""
        self._look_at_folder(room)
        self._read_again(room)
        space = space_of(self.folder.path)
        if space.is_read_only:
            refusal: Refusal | None = Refusal("the file system is read-only")
        elif not self._is_read.is_set():
            return Usage(refusal="the blocks in the folder are still being counted")
        else:
            refusal = room.refusal()
        return Usage(
            used_bytes=room.index.used_bytes,
            capacity_bytes=room.bound(space.free),
            evicted=room.evicted,
            promised_bytes=room.index.promised_bytes,
            broken_promises=room.broken,
            refusal=refusal.words if refusal is not None else "",
        )

    def _look_at_folder(self, room: DiskRoom) -> None:
        """Raise OSError while the folder is missing. One that stays away was removed, and is created again.

        One that was replaced, such as by its copy, has other locks, which are opened.
        """
        try:
            is_current = self.folder.is_current()
        except FileNotFoundError:
            now = time.monotonic()
            self._missed_at = self._missed_at or now
            if now - self._missed_at < _MISSED_SECONDS:
                raise
            is_current = False
        if not is_current:
            self._is_read.clear()
            self.folder.create()
            self._probe_folder()
            room.keeps_times = self._keeps_times
        self._missed_at = 0.0

    def _read_again(self, room: DiskRoom) -> None:
        """Read the folder once a minute. Read what others changed each time, if this process evicts for others too."""
        is_holder = self.folder.hold()
        if self._reader is not None and self._reader.is_alive():
            return
        now = time.monotonic()
        if not self._is_read.is_set() or now - self._read_at >= _READ_AGAIN_SECONDS:
            self._read_at = now
            gone = room.index.read_folder(self._pause, clean=is_holder)
            self._is_read.set()
            # Another process may have erased them for their owner.
            if is_holder and self.folder.is_alone():
                room.note_broken(gone, "their files are gone")
        elif is_holder and not self.folder.is_alone():
            room.index.read_folder(self._pause, changed_only=True)

    def _pause(self) -> None:
        self._closing.wait(_PAUSE_SECONDS)

    def close(self) -> None:
        """Let another process evict. No session may be open, except for those whose calls hang.

        While a call hangs, the locks of the folder are left to the end of the process.
        """
        self._closing.set()
        if self._reader is not None:
            self._reader.join(HANG_SECONDS)
            if self._reader.is_alive():
                return
        if self._lock.acquire(timeout=HANG_SECONDS):
            self.folder.close()
            self._lock.release()
