"""A disk as a tier: one file per value, bounded, with the least recently used values evicted first."""

import errno
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from cache_tiers.disk.folder import DiskFolder, disk_bytes, synchronize
from cache_tiers.disk.index import DiskIndex
from cache_tiers.disk.others import remove_expired
from cache_tiers.disk.space import default_bound, space_of
from cache_tiers.disk.stored_value import StoredValue, ValueId, stored_value_of, write_times
from cache_tiers.disk.value_file import ValueFiles, allows_direct, file_bytes, keeps_times
from cache_tiers.lower.backend import Refusal, TierClient, TierDescription, TierFaultError, Usage, Value
from cache_tiers.lower.link_speed import LinkMeter
from cache_tiers.lower.promise import Promised, PromiseTerms
from cache_tiers.lower.sealed_value import Reject
from cache_tiers.owners.block_key import owner_of
from cache_tiers.tier import BLOCK_TTL_SECONDS, Tier

logger = logging.getLogger(__name__)

DISK: Final = Tier("disk", "the disk")

_MIB: Final = 1 << 20
REFUSALS: Final = frozenset(
    {
        *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EMFILE, errno.ENFILE),
        *(errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO),
        *(errno.EISDIR, errno.ENOTDIR, errno.ENOTEMPTY, errno.EEXIST, errno.ELOOP),
    }
)
"""Errors of one change on a disk that still serves reads."""
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_FIRST_READ_SECONDS: Final = 0.5
_READ_AGAIN_SECONDS: Final = 60.0
_PAUSE_SECONDS: Final = 0.002
_MISSED_SECONDS: Final = 60.0
HANG_SECONDS: Final = 3.0
_MARK_SECONDS: Final = 60.0
"""Age of a file's time of use from which a use is written to it. A promise lasts that much longer than it states."""
_LAST_FREE_SHARE: Final = 0.5
"""Share of the space kept free below which even promised values are removed: a full disk stops the database."""


DESCRIPTION: Final = TierDescription(
    tier=DISK,
    place="",
    lanes=4,
    write_lanes=2,
    renew_seconds=_MARK_SECONDS,
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
        self._evicting = threading.Lock()
        self._index: DiskIndex | None = None
        self._reader: threading.Thread | None = None
        self._direct = False
        self._keeps_times = True
        self._evicted = 0
        self._broken = 0
        self._written_bytes = 0
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

    def connect(self, meter: LinkMeter, client: TierClient) -> "DiskSession":
        """See TierBackend. The first session begins to read the folder."""
        with self._lock:
            self._open()
            if self._index is None:
                self._probe_folder()
                self._index = DiskIndex(self.folder, client.owners, ttl_seconds=self._ttl_seconds)
                self._reader = threading.Thread(target=self._read_first, name="disk-reader", daemon=True)
                self._reader.start()
        # Mostly this is enough. The start does not wait for a slow disk that holds many files.
        self._is_read.wait(_FIRST_READ_SECONDS)
        files = ValueFiles(self.folder.changing_times, direct=self._direct)
        return DiskSession(self, self._index, meter, client.fingerprint, files)

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

    def _read_first(self) -> None:
        assert self._index is not None
        try:
            self._index.read_folder(lambda: None, clean=self.folder.hold())
        except OSError as error:
            # The next probe tries again, and reports the fault.
            logger.debug("the folder of KV blocks cannot be read: %s", error)
            return
        self._read_at = time.monotonic()
        self._is_read.set()
        with suppress(OSError):
            remove_expired(self.folder.path, self._ttl_seconds)

    def usage(self, index: DiskIndex) -> Usage:
        """See what others did in the folder, evict, and report. Raise OSError."""
        self._look_at_folder()
        self._read_again(index)
        space = space_of(self.folder.path)
        if space.is_read_only:
            refusal: Refusal | None = Refusal("the file system is read-only")
        elif not self._is_read.is_set():
            return Usage(refusal="the blocks in the folder are still being counted")
        else:
            refusal = self.make_room(index, 0) or self._refuse_if_promised(index, self._written_bytes)
        return Usage(
            used_bytes=index.used_bytes,
            capacity_bytes=self._bound(index, space.free),
            evicted=self._evicted,
            promised_bytes=index.promised_bytes,
            broken_promises=self._broken,
            refusal=refusal.words if refusal is not None else "",
        )

    def _look_at_folder(self) -> None:
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
        self._missed_at = 0.0

    def _read_again(self, index: DiskIndex) -> None:
        """Read the folder once a minute. Read what others changed each time, if this process evicts for others too."""
        is_holder = self.folder.hold()
        if self._reader is not None and self._reader.is_alive():
            return
        now = time.monotonic()
        if not self._is_read.is_set() or now - self._read_at >= _READ_AGAIN_SECONDS:
            self._read_at = now
            gone = index.read_folder(self._pause, clean=is_holder)
            self._is_read.set()
            # Another process may have erased them for their owner.
            if is_holder and self.folder.is_alone():
                self.note_broken(gone, "their files are gone")
        elif is_holder and not self.folder.is_alone():
            index.read_folder(self._pause, changed_only=True)

    def _pause(self) -> None:
        self._closing.wait(_PAUSE_SECONDS)

    def _bound(self, index: DiskIndex, free: int) -> int:
        """Return the most bytes that the values may take. free: bytes that are free on the disk."""
        if self._max_bytes is None:
            self._max_bytes = default_bound(free, index.used_bytes)
        return self._max_bytes

    def make_room(self, index: DiskIndex, nbytes: int) -> Refusal | None:
        """Evict until `nbytes` can be written. Return a refusal if that is not possible. Raise OSError.

        A process that does not hold the folder leaves the bound to the one that does, and keeps to the free space.
        """
        with self._evicting:
            space = space_of(self.folder.path)
            # A file system may take its time to count what was removed, so each removal counts by its size.
            free, bound = space.free, self._bound(index, space.free)
            files = space.spare_files - (nbytes > 0)
            kept_free = space.kept_free if self._kept_free is None else self._kept_free
            refusal = Refusal(f"less than {kept_free // _MIB} MiB would stay free on the disk")
            if nbytes > bound or not self._is_read.is_set():
                return refusal
            broken: list[ValueId] = []
            try:
                while self.folder.is_holder and (
                    index.used_bytes + nbytes > bound or free < nbytes + kept_free or files < 0
                ):
                    if (evicted := index.take_next()) is not None:
                        freed = self._evict(index, *evicted)
                    elif (index.used_bytes > bound or free < kept_free * _LAST_FREE_SHARE) and (
                        evicted := index.take_promised()
                    ):
                        broken.append(evicted[0])
                        freed = self._evict(index, *evicted, force=True)
                    else:
                        break
                    free, files = free + freed, files + (freed > 0)
            except OSError as error:
                if error.errno not in REFUSALS:
                    raise
                return Refusal(f"a block could not be removed: {error.strerror}")
            self.note_broken(broken, "the disk has no room for them")
            if free < nbytes + kept_free:
                return refusal
            if files < 0:
                return Refusal("too few files would stay free on the disk")
            self._written_bytes = nbytes or self._written_bytes
            return self._refuse_if_promised(index, nbytes)

    def give_way(self, index: DiskIndex, nbytes: int) -> bool:
        """Evict `nbytes` of unpromised values after a write that found the disk full, whatever is free by its figures.

        A quota is such a case. Return False if that is not possible. Raise OSError.
        """
        with self._evicting:
            freed = 0
            while freed < nbytes and self.folder.is_holder and (evicted := index.take_next()) is not None:
                freed += self._evict(index, *evicted)
            return freed >= nbytes

    def _refuse_if_promised(self, index: DiskIndex, nbytes: int) -> Refusal | None:
        """Return a refusal if promised values leave no room for `nbytes`. The process that evicts knows all of them."""
        if self.folder.is_holder and self._max_bytes is not None and index.promised_bytes + nbytes > self._max_bytes:
            return Refusal("the blocks that are promised leave no room for others")
        return None

    def _evict(self, index: DiskIndex, value: ValueId, known: StoredValue, *, force: bool = False) -> int:
        """Remove a value, unless another process has promised it. Return the bytes that this freed. Raise OSError."""
        path = self.folder.file_of(*value.parts())
        try:
            with suppress(FileNotFoundError), self.folder.changing_times():
                stored = stored_value_of(os.stat(path), known.nbytes)
                if stored.is_promised(time.time()) and not force:
                    index.put(value, stored)
                    return 0
                os.unlink(path)
                self._evicted += 1
                return known.nbytes
        except OSError:
            # The value still takes room.
            index.put(value, known)
            raise
        return 0

    def note_broken(self, values: Sequence[ValueId], why: str) -> None:
        """Count promised values that could not be held, and report them with their owners."""
        if not values:
            return
        self._broken += len(values)
        assert self._index is not None
        names = {self._index.owners.name(owner) or f"the owner {owner.hex()}" for owner in map(owner_of, values)}
        logger.warning("%d promised blocks of %s are lost: %s", len(values), ", ".join(sorted(names)), why)

    def promise(self, index: DiskIndex, values: Sequence[ValueId], terms: PromiseTerms) -> Promised:
        """See PromisingSession. Raise OSError."""
        if not self._keeps_times:
            return Promised(0, "no_tier")
        seconds = terms.seconds + _MARK_SECONDS if terms.seconds else 0.0
        with self.folder.changing_times():
            if self.folder.have_others_promised() or not self._is_read.is_set():
                index.read_promises()
            now, found = time.time(), list[tuple[ValueId, StoredValue]]()
            with suppress(FileNotFoundError):
                for value in values:
                    status = os.stat(self.folder.file_of(*value.parts()))
                    found.append((value, stored_value_of(status, disk_bytes(status)).promised(now, seconds)))
            count = index.num_admitted(found, terms.reserved_bytes) if seconds else len(found)
            # The last block of a chain is the first one to go once the promise has ended.
            for value, stored in reversed(found[:count]):
                write_times(self.folder.file_of(*value.parts()), stored)
                index.put(value, stored)
            self.folder.note_promises(self.folder.file_of(*value.parts()) for value, _ in found[:count])
        if count < len(found):
            return Promised(count, "no_room")
        return Promised(count, None if count == len(values) else "absent")

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


class DiskSession:
    """The values of one model in a folder. See TierSession."""

    def __init__(
        self, backend: DiskBackend, index: DiskIndex, meter: LinkMeter, fingerprint: bytes, files: ValueFiles
    ) -> None:
        self._backend = backend
        self._folder = backend.folder
        self._index = index
        self._meter = meter
        self._fingerprint = fingerprint
        self._files = files
        self._num_read = 0

    def prepare(self) -> None:
        """See TierSession."""

    def find(self, keys: Sequence[bytes]) -> list[bool]:
        """See TierSession."""
        began = time.monotonic()
        found = [os.path.exists(self._path(key)) for key in keys]
        self._meter.on_answer(time.monotonic() - began)
        return found

    def read(self, values: Iterator[Value]) -> Iterator[int | Reject | None]:
        """Read one value after the other. More lanes keep the disk busy."""
        with self._meter.receiving(lambda: self._num_read):
            for value in values:
                found = self._files.read(self._path(value.key), value)
                if isinstance(found, int):
                    self._num_read += value.payload.nbytes
                    if self._index.use(self._id(value.key)) > _MARK_SECONDS:
                        self._mark(value.key)
                elif found is None:
                    self._note_gone(value.key)
                elif found is Reject.UNREADABLE:
                    # The block is written again, to another place of the medium.
                    self._note_broken(value.key, "the medium cannot read them")
                    with suppress(OSError):
                        self._unlink(value.key, self._fingerprint)
                yield found

    def write(self, values: Iterable[Value]) -> Refusal | None:
        """Write each value to a draft, and rename it."""
        for value in values:
            nbytes = file_bytes(value.payload.nbytes)
            try:
                if (refusal := self._backend.make_room(self._index, nbytes)) is not None:
                    return refusal
                stored = self._write(self._path(value.key), value, nbytes)
            except OSError as error:
                if error.errno in REFUSALS:
                    return Refusal(f"a block could not be written: {error.strerror}")
                raise
            self._index.put(self._id(value.key), stored)
        return None

    def _write(self, path: str, value: Value, nbytes: int) -> StoredValue:
        try:
            return self._write_file(path, value)
        except OSError as error:
            if error.errno not in _FULL or not self._backend.give_way(self._index, nbytes):
                raise
        return self._write_file(path, value)

    def _write_file(self, path: str, value: Value) -> StoredValue:
        try:
            return self._files.write(path, value)
        except FileNotFoundError:
            self._folder.make_shard(path)
            return self._files.write(path, value)

    def keep(self, keys: Sequence[bytes]) -> list[bool] | Refusal:
        """Write the time of use to the files, and look which of them exist."""
        return [self._mark(key) for key in keys]

    def _mark(self, key: bytes) -> bool:
        """Count a value as used now, also after a restart and for other processes. Return whether it exists.

        A promise lasts for its whole time again.
        """
        path = self._path(key)
        try:
            with self._folder.changing_times():
                status = os.stat(path)
                stored = stored_value_of(status, disk_bytes(status)).used(time.time())
                write_times(path, stored)
        except FileNotFoundError:
            self._note_gone(key)
            return False
        except OSError as error:
            if error.errno not in REFUSALS:
                raise
            self._index.use(self._id(key))
            return True
        self._index.put(self._id(key), stored)
        return True

    def _note_gone(self, key: bytes) -> None:
        """Note that there is no file for a key. Raise OSError if there is no folder either."""
        os.stat(self._folder.path)
        self._note_broken(key, "their files are gone")

    def _note_broken(self, key: bytes, why: str) -> None:
        """Note that a value is gone, and report it if it was promised."""
        if self._index.forget(self._id(key)):
            self._backend.note_broken([self._id(key)], why)

    def promise(self, keys: Sequence[bytes], terms: PromiseTerms) -> Promised:
        """See PromisingSession."""
        try:
            return self._backend.promise(self._index, [self._id(key) for key in keys], terms)
        except OSError as error:
            if error.errno in REFUSALS:
                return Promised(0, "read_only")
            raise

    def remove(self, keys: Sequence[bytes]) -> Refusal | None:
        """Remove the files, and wait until the medium has noted it: not even a power cut brings them back.

        An erasure may be owed since another model was served, so the values of all models are removed.
        """
        try:
            fingerprints = self._folder.fingerprints()
            for key in keys:
                for fingerprint in fingerprints:
                    self._unlink(key, fingerprint)
            # A file that is gone already may be so in memory only.
            for folder in {os.path.dirname(self._folder.file_of(each, key)) for each in fingerprints for key in keys}:
                synchronize(folder)
        except OSError as error:
            if error.errno in REFUSALS:
                return Refusal(f"a block could not be removed: {error.strerror}")
            raise
        return None

    def _unlink(self, key: bytes, fingerprint: bytes) -> None:
        self._index.forget(ValueId(key + fingerprint))
        # A folder with the name of a value holds no value.
        with suppress(FileNotFoundError, IsADirectoryError):
            os.unlink(self._folder.file_of(fingerprint, key))

    def _id(self, key: bytes) -> ValueId:
        return ValueId(key + self._fingerprint)

    def _path(self, key: bytes) -> str:
        return self._folder.file_of(self._fingerprint, key)

    def usage(self) -> Usage:
        """See TierSession."""
        return self._backend.usage(self._index)

    def abort(self) -> None:
        """See TierSession. A call to the file system cannot be ended."""

    def close(self) -> None:
        """See TierSession."""
