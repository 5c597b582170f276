"""Values of one model in a folder: finding, reading, writing, renewing and removing them."""

import errno
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Final

from cache_tiers.disk.folder import REFUSALS, DiskFolder, disk_bytes, synchronize
from cache_tiers.disk.room import DiskRoom
from cache_tiers.disk.stored_value import MARK_SECONDS, StoredValue, ValueId, stored_value_of, write_times
from cache_tiers.disk.value_file import ValueFiles, file_bytes
from cache_tiers.lower.backend import Refusal, Usage, Value
from cache_tiers.lower.link_speed import LinkMeter
from cache_tiers.lower.promise import Promised, PromiseTerms
from cache_tiers.lower.sealed_value import Reject

_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


class DiskSession:
    """The values of one model in a folder. See TierSession."""

    def __init__(
        self,
        folder: DiskFolder,
        room: DiskRoom,
        files: ValueFiles,
        meter: LinkMeter,
        *,
        fingerprint: bytes,
        see_usage: Callable[[], Usage],
    ) -> None:
        """Prepare the session. see_usage: sees what others did in the folder, evicts and reports; raises OSError."""
        self._folder = folder
        self._room = room
        self._index = room.index
        self._files = files
        self._meter = meter
        self._fingerprint = fingerprint
        self._see_usage = see_usage
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
                    if self._index.use(self._id(value.key)) > MARK_SECONDS:
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
                if (refusal := self._room.make_room(nbytes)) is not None:
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
            if error.errno not in _FULL or not self._room.give_way(nbytes):
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
            self._room.note_broken([self._id(key)], why)

    def promise(self, keys: Sequence[bytes], terms: PromiseTerms) -> Promised:
        """See PromisingSession."""
        try:
            return self._room.promise([self._id(key) for key in keys], terms)
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
        return self._see_usage()

    def abort(self) -> None:
        """See TierSession. A call to the file system cannot be ended."""

    def close(self) -> None:
        """See TierSession."""
