"""The values of a folder by the time of their last use: their sizes, and which are to be evicted first."""

import os
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NamedTuple

from cache_tiers.disk.folder import DRAFT, DiskFolder, disk_bytes, key_of
from cache_tiers.owners.block_key import KEY_BYTES
from cache_tiers.owners.owners import Owners
from cache_tiers.owners.shares import OwnedKeys
from cache_tiers.tier import BLOCK_TTL_SECONDS

_DRAFT_SECONDS: Final = 60.0
"""Age from which a draft has no writer any more."""


class ValueId(bytes):
    """Identity of a value: its key, which begins with the owner, and the fingerprint of its model."""

    def parts(self) -> tuple[bytes, bytes]:
        """Return the fingerprint and the key."""
        return self[KEY_BYTES:], self[:KEY_BYTES]


@dataclass(slots=True)
class StoredValue:
    """A value in the folder. used_at: seconds since the epoch."""

    used_at: float
    nbytes: int


class _Found(NamedTuple):
    """A value in the folder. used_at: seconds since the epoch."""

    used_at: float
    value: ValueId
    nbytes: int


class DiskIndex:
    """All values of a folder, of all models. Thread-safe.

    Owners share the folder fairly, and the values of an owner are evicted in the order of their last use. The folder is
    the truth, which other processes change too. Their changes are seen when the folder is read again.
    """

    def __init__(self, folder: DiskFolder, owners: Owners, *, ttl_seconds: float = BLOCK_TTL_SECONDS) -> None:
        self._folder = folder
        self._ttl_seconds = ttl_seconds
        self._lock = threading.Lock()
        # An owner keeps its share for as long as its values live.
        self._values: OwnedKeys[ValueId, StoredValue] = OwnedKeys(owners, lapse_seconds=ttl_seconds)
        self._changed_at: dict[str, int] = {}
        self._gone: set[ValueId] = set()

    @property
    def used_bytes(self) -> int:
        """Bytes of the values."""
        return self._values.size

    def add(self, value: ValueId, nbytes: int) -> None:
        """Note a value that was written."""
        with self._lock:
            self._gone.discard(value)
            self._values.put(value, StoredValue(time.time(), nbytes), nbytes)

    def use(self, value: ValueId) -> float:
        """Count a value as the most recently used. Return the seconds since its last use before; 0 if it is unknown."""
        now = time.time()
        with self._lock:
            known = self._values.get(value)
            if known is None:
                return 0.0
            before, known.used_at = known.used_at, now
            self._values.use(value)
            return now - before

    def forget(self, value: ValueId) -> None:
        """Note that a value is gone."""
        with self._lock:
            self._gone.add(value)
            self._values.pop(value)

    def take_next(self) -> tuple[ValueId, int] | None:
        """Remove the value that is to be evicted next. Return it with its bytes; None if none is left."""
        with self._lock:
            if not len(self._values):
                return None
            value = self._values.next_to_go()
            self._gone.add(value)
            known = self._values.pop(value)
            assert known is not None
            return value, known.nbytes

    def read_folder(self, pause: Callable[[], None], *, changed_only: bool = False, clean: bool = False) -> None:
        """Learn from the folder which values exist, what they take and when they were used. Raise OSError.

        Called by one thread at a time.

        pause: called after each part.
        changed_only: skip parts that are as they were when they were last read.
        clean: remove values that were not used for the time to live, and what interrupted writes left.
        """
        with self._lock:
            self._gone.clear()
        began = time.time()
        found: list[_Found] = []
        unread: set[bytes] = set()
        for fingerprint, path in self._folder.shards():
            changed_at = os.stat(path).st_mtime_ns
            if changed_only and self._changed_at.get(path) == changed_at:
                unread.add(bytes.fromhex(path[-2:]) + fingerprint)
                continue
            self._changed_at[path] = changed_at
            found.extend(self._read_shard(fingerprint, path, began, clean=clean))
            pause()
        self._take_over(found, unread, began)

    def _read_shard(self, fingerprint: bytes, path: str, now: float, *, clean: bool) -> Iterator[_Found]:
        with os.scandir(path) as entries:
            for entry in entries:
                # Another process may remove the file at any time.
                with suppress(FileNotFoundError):
                    status = entry.stat(follow_symlinks=False)
                    key = key_of(entry.name)
                    age = now - status.st_mtime
                    if clean and age > (_DRAFT_SECONDS if entry.name.endswith(DRAFT) else self._ttl_seconds):
                        os.unlink(entry.path)
                    elif key is not None and stat.S_ISREG(status.st_mode):
                        yield _Found(status.st_mtime, ValueId(key + fingerprint), disk_bytes(status))

    def _take_over(self, found: list[_Found], unread: set[bytes], began: float) -> None:
        """Take over what was found, except for what this process has changed since the reading began.

        unread: the ends of the identities of values that were not looked for.
        """
        there = {each.value for each in found}
        with self._lock:
            lost = [
                value
                for value, known in self._values.items()
                if value not in there and known.used_at < began and value[-_END_BYTES:] not in unread
            ]
            for value in lost:
                self._values.pop(value)
            # Values that others wrote or used are more recent than this process knows.
            for each in sorted(found):
                mine = self._values.get(each.value)
                if each.value not in self._gone and (mine is None or mine.used_at < each.used_at):
                    self._values.put(each.value, StoredValue(each.used_at, each.nbytes), each.nbytes)


_END_BYTES: Final = 17
"""Last byte of the key, and the fingerprint."""
