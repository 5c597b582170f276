"""Room for values on a disk: the bound, evictions, and promises, which nothing but a full disk evicts."""

import logging
import os
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from cache_tiers.disk.folder import REFUSALS, DiskFolder, disk_bytes
from cache_tiers.disk.index import DiskIndex
from cache_tiers.disk.space import default_bound, space_of
from cache_tiers.disk.stored_value import MARK_SECONDS, StoredValue, ValueId, stored_value_of, write_times
from cache_tiers.lower.backend import Refusal
from cache_tiers.lower.promise import Promised, PromiseTerms
from cache_tiers.owners.block_key import owner_of

logger = logging.getLogger(__name__)

_MIB: Final = 1 << 20
_LAST_FREE_SHARE: Final = 0.5
"""Share of the space kept free below which even promised values are removed: a full disk stops the database."""


class DiskRoom:
    """Owner of the bound of a folder, for all sessions of this process. Thread-safe.

    evicted: number of evicted values. broken: number of promised values that could not be held.
    keeps_times: whether the file system keeps the times of files, without which nothing is promised.
    """

    def __init__(
        self,
        folder: DiskFolder,
        index: DiskIndex,
        is_read: threading.Event,
        *,
        max_bytes: int | None,
        kept_free: int | None,
        keeps_times: bool,
    ) -> None:
        """Prepare the room.

        is_read: set while the index knows the values in the folder.
        max_bytes: None stands for `default_bound`. kept_free: None stands for that of the disk.
        """
        self.index = index
        self.keeps_times = keeps_times
        self.evicted = 0
        self.broken = 0
        self._folder = folder
        self._is_read = is_read
        self._max_bytes = max_bytes
        self._kept_free = kept_free
        self._evicting = threading.Lock()
        self._written_bytes = 0

    def bound(self, free: int) -> int:
        """Return the most bytes that the values may take. free: bytes that are free on the disk."""
        if self._max_bytes is None:
            self._max_bytes = default_bound(free, self.index.used_bytes)
        return self._max_bytes

    def make_room(self, nbytes: int) -> Refusal | None:
        """Evict until `nbytes` can be written. Return a refusal if that is not possible. Raise OSError.

        A process that does not hold the folder leaves the bound to the one that does, and keeps to the free space.
        """
        with self._evicting:
            space = space_of(self._folder.path)
            # A file system may take its time to count what was removed, so each removal counts by its size.
            free, bound = space.free, self.bound(space.free)
            files = space.spare_files - (nbytes > 0)
            kept_free = space.kept_free if self._kept_free is None else self._kept_free
            refusal = Refusal(f"less than {kept_free // _MIB} MiB would stay free on the disk")
            if nbytes > bound or not self._is_read.is_set():
                return refusal
            broken: list[ValueId] = []
            try:
                while self._folder.is_holder and (
                    self.index.used_bytes + nbytes > bound or free < nbytes + kept_free or files < 0
                ):
                    if (evicted := self.index.take_next()) is not None:
                        freed = self._evict(*evicted)
                    elif (self.index.used_bytes > bound or free < kept_free * _LAST_FREE_SHARE) and (
                        evicted := self.index.take_promised()
                    ):
                        broken.append(evicted[0])
                        freed = self._evict(*evicted, force=True)
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
            return self._refuse_if_promised(nbytes)

    def refusal(self) -> Refusal | None:
        """Evict down to the bound. Return a refusal if no further block would find room. Raise OSError."""
        return self.make_room(0) or self._refuse_if_promised(self._written_bytes)

    def give_way(self, nbytes: int) -> bool:
        """Evict `nbytes` of unpromised values after a write that found the disk full, whatever is free by its figures.

        A quota is such a case. Return False if that is not possible. Raise OSError.
        """
        with self._evicting:
            freed = 0
            while freed < nbytes and self._folder.is_holder and (evicted := self.index.take_next()) is not None:
                freed += self._evict(*evicted)
            return freed >= nbytes

    def _refuse_if_promised(self, nbytes: int) -> Refusal | None:
        """Return a refusal if promised values leave no room for `nbytes`. The process that evicts knows all of them."""
        most = self._max_bytes
        if self._folder.is_holder and most is not None and self.index.promised_bytes + nbytes > most:
            return Refusal("the blocks that are promised leave no room for others")
        return None

    def _evict(self, value: ValueId, known: StoredValue, *, force: bool = False) -> int:
        """Remove a value, unless another process has promised it. Return the bytes that this freed. Raise OSError."""
        path = self._folder.file_of(*value.parts())
        try:
            with suppress(FileNotFoundError), self._folder.changing_times():
                stored = stored_value_of(os.stat(path), known.nbytes)
                if stored.is_promised(time.time()) and not force:
                    self.index.put(value, stored)
                    return 0
                os.unlink(path)
                self.evicted += 1
                return known.nbytes
        except OSError:
            # The value still takes room.
            self.index.put(value, known)
            raise
        return 0

    def note_broken(self, values: Sequence[ValueId], why: str) -> None:
        """Count promised values that could not be held, and report them with their owners."""
        if not values:
            return
        self.broken += len(values)
        names = {self.index.owners.name(owner) or f"the owner {owner.hex()}" for owner in map(owner_of, values)}
        logger.warning("%d promised blocks of %s are lost: %s", len(values), ", ".join(sorted(names)), why)

    def promise(self, values: Sequence[ValueId], terms: PromiseTerms) -> Promised:
        """See PromisingSession. Raise OSError."""
        if not self.keeps_times:
            return Promised(0, "no_tier")
        seconds = terms.seconds + MARK_SECONDS if terms.seconds else 0.0
        with self._folder.changing_times():
            if self._folder.have_others_promised() or not self._is_read.is_set():
                self.index.read_promises()
            now, found = time.time(), list[tuple[ValueId, StoredValue]]()
            with suppress(FileNotFoundError):
                for value in values:
                    status = os.stat(self._folder.file_of(*value.parts()))
                    found.append((value, stored_value_of(status, disk_bytes(status)).promised(now, seconds)))
            count = self.index.num_admitted(found, terms.reserved_bytes) if seconds else len(found)
            # The last block of a chain is the first one to go once the promise has ended.
            for value, stored in reversed(found[:count]):
                write_times(self._folder.file_of(*value.parts()), stored)
                self.index.put(value, stored)
            self._folder.note_promises(self._folder.file_of(*value.parts()) for value, _ in found[:count])
        if count < len(found):
            return Promised(count, "no_room")
        return Promised(count, None if count == len(values) else "absent")
