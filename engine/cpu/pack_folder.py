"""Folder of pack files, bounded: the least recently used one is deleted first."""

import fcntl
import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cache_tiers.disk.space import default_bound, existing_part, space_of
from engine.cpu.pack_claim import PackClaim
from engine.cpu.pack_file import MappedPack, PackError, read_header, write_pack

DEFAULT_SHARE: Final = 0.2
"""Share of the bytes that are free, or the folder's own, where no bound is set."""
LARGEST_DEFAULT: Final = 64 << 30
"""Largest bound, in bytes, where none is set."""

_ENDING: Final = ".pack"
_DRAFT: Final = ".draft"
_CLAIM: Final = ".claim"
_PLACE: Final = "packed"


class NoRoomError(Exception):
    """A folder that cannot take a pack. The message is a sentence for the log."""


@dataclass(frozen=True, slots=True)
class StoredPack:
    """A pack file. label: name of the model; empty if the file cannot be read. used: time of the last use."""

    path: Path
    label: str
    nbytes: int
    used: float


class PackFolder:
    """The pack files below a cache directory.

    A file's name is a digest of its identity. Processes may share the folder: a file appears when it is whole, and
    stays mapped where it is in use when it is deleted.
    """

    def __init__(self, cache_dir: Path, limit: int | None = None) -> None:
        """limit: most bytes of all files; None for a share of the disk. Nothing is created."""
        self.path = cache_dir / _PLACE
        self._limit = limit

    def open(self, identity: str) -> MappedPack | None:
        """Map the pack with this identity, and note its use. Return None if there is none. Raise PackError."""
        path = self._file(identity)
        if not path.exists():
            return None
        pack = MappedPack(path, identity)
        with suppress(OSError):  # a read-only folder
            os.utime(path)
        return pack

    def claim(self, source: str) -> PackClaim:
        """Return the claim on the pack of a source, which is not taken yet."""
        return PackClaim(self._file(source).with_suffix(_CLAIM))

    def keep(
        self,
        *,
        identity: str,
        label: str,
        vectors: Sequence[NDArray[np.float32]],
        panels: NDArray[np.uint8],
        wait: Callable[[], bool],
        is_damaged: bool = False,
    ) -> bool:
        """Write a pack, and delete the least recently used ones for which there is no room then.

        For all but the last argument, see `write_pack`.

        is_damaged: whether a file with this identity is replaced.

        Return False if another process has written it. Raise NoRoomError, OSError or PackStoppedError. No file of this
        pack remains then.
        """
        target = self._file(identity)
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._locked():
            for draft in self.path.glob(f"*{_DRAFT}"):  # of a writer that was killed
                draft.unlink(missing_ok=True)
            if is_damaged:
                target.unlink(missing_ok=True)
            if target.exists():
                return False
            self._make_room(panels.nbytes)
            draft = target.with_suffix(_DRAFT)
            try:
                write_pack(draft, identity=identity, label=label, vectors=vectors, panels=panels, wait=wait)
                draft.rename(target)
            except BaseException:
                draft.unlink(missing_ok=True)
                raise
        return True

    def packs(self) -> list[StoredPack]:
        """List the files, the least recently used one first. Raise OSError."""
        if not self.path.is_dir():
            return []
        return sorted(self._stored(), key=lambda pack: pack.used)

    def bound(self, used: int) -> int:
        """Return the most bytes of all files, of which there are `used`. Raise OSError."""
        if self._limit is not None:
            return self._limit
        free = space_of(existing_part(self.path)).free
        return default_bound(free, used, share=DEFAULT_SHARE, largest=LARGEST_DEFAULT)

    def clear(self) -> int:
        """Delete all files, and return the number of packs among them. Raise OSError."""
        packs = self.packs()
        for pack in packs:
            pack.path.unlink(missing_ok=True)
        return len(packs)

    def _file(self, identity: str) -> Path:
        return self.path / f"{hashlib.sha256(identity.encode()).hexdigest()[:32]}{_ENDING}"

    def _stored(self) -> Iterator[StoredPack]:
        for path in self.path.glob(f"*{_ENDING}"):
            with suppress(FileNotFoundError):
                found = path.stat()
                try:
                    label = read_header(path).label
                except PackError:
                    label = ""
                yield StoredPack(path, label, found.st_size, found.st_mtime)

    def _make_room(self, nbytes: int) -> None:
        """Delete the least recently used packs until `nbytes` fit. Raise NoRoomError if they cannot."""
        packs, space = self.packs(), space_of(self.path)
        used, free = sum(pack.nbytes for pack in packs), space.free - space.kept_free
        bound = self.bound(used)
        if nbytes > bound:
            raise NoRoomError(f"they take {nbytes} bytes, and {bound} are allowed")
        if nbytes > free + used:
            raise NoRoomError(f"they take {nbytes} bytes, and only {space.free} are free on the disk of {self.path}")
        for pack in packs:
            if used + nbytes <= bound and nbytes <= free:
                return
            pack.path.unlink(missing_ok=True)
            used, free = used - pack.nbytes, free + pack.nbytes

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the right to write, across processes and threads. A process that dies loses it."""
        descriptor = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)
