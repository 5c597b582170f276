"""The values of a folder by the time of their last use: their sizes, and which are to be evicted first."""

import logging
import os
import stat
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from cache_tiers.disk.folder import DiskFolder, disk_bytes, is_own, key_of
from cache_tiers.disk.promised_values import PromisedValues
from cache_tiers.disk.stored_value import StoredValue, ValueId, stored_value_of
from cache_tiers.owners.block_key import Owner, owner_of
from cache_tiers.owners.owners import Owners
from cache_tiers.owners.shares import OwnedKeys
from cache_tiers.tier import BLOCK_TTL_SECONDS

logger = logging.getLogger(__name__)

_DRAFT_SECONDS: Final = 60.0
"""Age from which a draft has no writer any more."""


class _Found(NamedTuple):
    """A value in the folder."""

    stored: StoredValue
    value: ValueId


class DiskIndex:
    """All values of a folder, of all models. Thread-safe.

    Owners share the folder fairly, and the values of an owner are evicted in the order of their last use. Promised
    values are evicted last, and count towards no share. The folder is the truth, which other processes change too.
    Their changes are seen when the folder is read again.
    """

    def __init__(self, folder: DiskFolder, owners: Owners, *, ttl_seconds: float = BLOCK_TTL_SECONDS) -> None:
        self.owners = owners
        self._folder = folder
        self._ttl_seconds = ttl_seconds
        self._lock = threading.Lock()
        # An owner keeps its share for as long as its values live.
        self._values: OwnedKeys[ValueId, StoredValue] = OwnedKeys(owners, lapse_seconds=ttl_seconds)
        self._promised = PromisedValues()
        self._changed_at: dict[str, int] = {}
        self._promised_at: dict[str, int] = {}
        self._gone: set[ValueId] = set()

    @property
    def used_bytes(self) -> int:
        """Bytes of the values."""
        with self._lock:
            return self._values.size + self._promised.size

    @property
    def promised_bytes(self) -> int:
        """Bytes of the promised values."""
        with self._lock:
            self._end_promises()
            return self._promised.size

    def put(self, value: ValueId, stored: StoredValue) -> None:
        """Note a value that was written, used, or promised."""
        with self._lock:
            self._gone.discard(value)
            self._put(value, stored)

    def _put(self, value: ValueId, stored: StoredValue) -> None:
        if stored.is_promised(time.time()):
            self._values.pop(value)
            self._promised.put(value, stored)
        else:
            self._promised.pop(value)
            self._values.put(value, stored, stored.nbytes)

    def use(self, value: ValueId) -> float:
        """Count a value as the most recently used. Return the seconds since the file states a use; 0 if unknown.

        A clock that was set back since then counts as well, so that the file does not state a later use for years.
        """
        now = time.time()
        with self._lock:
            if (promised := self._promised.get(value)) is not None:
                return abs(now - promised.used_at)
            known = self._values.get(value)
            if known is None:
                return 0.0
            self._values.use(value)
            return abs(now - known.used_at)

    def num_admitted(self, values: Sequence[tuple[ValueId, StoredValue]], reserved_bytes: int) -> int:
        """Return how many of `values`, from the first on, can be promised.

        reserved_bytes: most promised bytes of an owner. A promise that exceeds them is not renewed.
        """
        with self._lock:
            self._end_promises()
            more = Counter[Owner]()
            for index, (value, stored) in enumerate(values):
                owner = owner_of(value)
                more[owner] += stored.nbytes if self._promised.get(value) is None else 0
                if self._promised.held[owner] + more[owner] > reserved_bytes:
                    return index
            return len(values)

    def read_promises(self) -> None:
        """Learn what other processes have promised, from the parts of the folder that changed since the last call.

        Raise OSError. Call in `DiskFolder.changing_times`.
        """
        now = time.time()
        for fingerprint, path in self._folder.shards():
            # Another process may remove a part, and another user may own one.
            with suppress(OSError):
                changed_at = os.stat(path).st_mtime_ns
                if self._promised_at.get(path) == changed_at:
                    continue
                for value, stored in ((each.value, each.stored) for each in self._read_shard(fingerprint, path, now)):
                    if stored.is_promised(now) or self._promised.get(value) is not None:
                        self.put(value, stored)
                self._promised_at[path] = changed_at

    def forget(self, value: ValueId) -> bool:
        """Note that a value is gone. Return whether it was promised."""
        with self._lock:
            self._gone.add(value)
            self._values.pop(value)
            promised = self._promised.pop(value)
            return promised is not None and promised.is_promised(time.time())

    def take_next(self) -> tuple[ValueId, StoredValue] | None:
        """Remove the value to evict next, and return it; None if only promised ones are left."""
        with self._lock:
            self._end_promises()
            if not len(self._values):
                return None
            value = self._values.next_to_go()
            self._gone.add(value)
            known = self._values.pop(value)
            assert known is not None
            return value, known

    def take_promised(self) -> tuple[ValueId, StoredValue] | None:
        """Remove the value whose promise would end first, since it cannot be held. Return as `take_next`."""
        with self._lock:
            if (value := self._promised.next_to_end()) is None:
                return None
            self._gone.add(value)
            known = self._promised.pop(value)
            assert known is not None
            return value, known

    def _end_promises(self) -> None:
        for value, stored in self._promised.take_ended(time.time()):
            self._values.put(value, stored, stored.nbytes)

    def read_folder(
        self, pause: Callable[[], None], *, changed_only: bool = False, clean: bool = False
    ) -> list[ValueId]:
        """Learn from the folder which values exist, what they take, when they were used and whether they are promised.

        Return the promised ones that are gone. Raise OSError. Called by one thread at a time.

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
            try:
                changed_at = os.stat(path).st_mtime_ns
                if changed_only and self._changed_at.get(path) == changed_at:
                    unread.add(bytes.fromhex(path[-2:]) + fingerprint)
                    continue
                self._changed_at[path] = changed_at
                values = list(self._read_shard(fingerprint, path, began, clean=clean))
            except OSError as error:
                # A part that another user owns or that the medium cannot read costs only the values in it.
                logger.debug("%s cannot be read: %s", path, error.strerror)
                continue
            if clean and not values and began - changed_at / 1e9 > self._ttl_seconds:
                self._remove_if_empty(path)
            found.extend(values)
            pause()
        return self._take_over(found, unread, began)

    def _read_shard(self, fingerprint: bytes, path: str, now: float, *, clean: bool = False) -> Iterator[_Found]:
        with os.scandir(path) as entries:
            for entry in entries:
                # Another process may remove the file at any time.
                with suppress(FileNotFoundError):
                    status = entry.stat(follow_symlinks=False)
                    if not (is_own(entry.name) and stat.S_ISREG(status.st_mode)):
                        continue
                    key, stored = key_of(entry.name), stored_value_of(status, disk_bytes(status))
                    most_seconds = self._ttl_seconds if key is not None else _DRAFT_SECONDS
                    is_over = now - stored.used_at > most_seconds and not stored.is_promised(now)
                    if not (clean and is_over and _is_removed(entry.path)) and key is not None:
                        yield _Found(stored, ValueId(key + fingerprint))

    def _remove_if_empty(self, shard: str) -> None:
        """Remove a folder that had no value for long, and that of its model: each version may have another one."""
        self._changed_at.pop(shard, None)
        with suppress(OSError):
            os.rmdir(shard)
            os.rmdir(os.path.dirname(shard))

    def _take_over(self, found: list[_Found], unread: set[bytes], began: float) -> list[ValueId]:
        """Take over what was found, except for what this process has changed since the reading began.

        Return the promised values that are gone.

        unread: the ends of the identities of values that were not looked for.
        """
        there = {each.value for each in found}
        with self._lock:
            lost = [
                value
                for value, known in (*self._values.items(), *self._promised.items())
                if value not in there and known.used_at < began and value[-_END_BYTES:] not in unread
            ]
            broken = [value for value in lost if self._promised.pop(value) is not None]
            for value in lost:
                self._values.pop(value)
            # Values that others wrote, used or promised are more recent than this process knows.
            for each in sorted(found, key=lambda found: found.stored.used_at):
                mine = self._promised.get(each.value) or self._values.get(each.value)
                if each.value not in self._gone and (mine is None or mine.used_at < each.stored.used_at):
                    self._put(each.value, each.stored)
            return broken


def _is_removed(path: str) -> bool:
    """Remove a file, unless the disk refuses that. Return whether it is gone."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


_END_BYTES: Final = 17
"""Last byte of the key, and the fingerprint."""
