"""Download of one file, which continues where an earlier one ended and is verified before it gets its name."""

import hashlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from models.download.hub.repository import RepoFile, Repository
from models.download.staging import Progress, no_room_errors
from models.errors import ChecksumError, TransientError

if TYPE_CHECKING:
    from models.download.hub.client import Hub

_REPORT_SECONDS: Final = 2.0
_MEGABYTE: Final = 1_000_000
_PIECE: Final = 1 << 20
_LONG_TO_VERIFY: Final = 500 * _MEGABYTE


@dataclass(slots=True)
class Meter:
    """Progress of the downloads of one model, reported every two seconds.

    total: bytes of all files. present: bytes of them that are on this machine.
    """

    name: str
    total: int
    present: int
    progress: Progress
    clock: Callable[[], float] = time.monotonic
    _fetched: int = 0
    _began: float = field(default=0.0, init=False)
    _reported: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        """Start the clock."""
        self._began = self._reported = self.clock()

    def add(self, nbytes: int, path: str) -> None:
        """Count `nbytes` of the file `path` that arrived; negative for bytes that were discarded."""
        self.present += nbytes
        self._fetched += max(0, nbytes)
        now = self.clock()
        if now - self._reported >= _REPORT_SECONDS:
            self._reported = now
            rate = self._fetched / (now - self._began) / _MEGABYTE
            megabytes = f"{self.present // _MEGABYTE} of {self.total // _MEGABYTE} MB"
            self.progress(f"Downloading {self.name}: {megabytes}, {rate:.1f} MB/s ({path})")


def fetch(hub: "Hub", repository: Repository, file: RepoFile, target: Path, meter: Meter) -> None:
    """Download `file` to `target`, unless it is there. Bytes of an earlier attempt are kept in a partial file.

    Raise ChecksumError if the bytes are not those that the repository names, DownloadError or DiskFullError.
    """
    if target.exists():
        return
    partial = partial_of(target)
    with no_room_errors(target.parent):
        target.parent.mkdir(parents=True, exist_ok=True)
        is_resumed = present_bytes(target) > 0
        fill(hub, repository, file, target, meter, file.nbytes)
        if file.nbytes > _LONG_TO_VERIFY:
            meter.progress(f"Verifying {file.path}")
        if not _is_intact(partial, file) and is_resumed:
            # The earlier part may have been damaged on this disk, so the whole file gets a second chance.
            meter.add(-partial.stat().st_size, file.path)
            partial.unlink()
            fill(hub, repository, file, target, meter, file.nbytes)
        if not _is_intact(partial, file):
            partial.unlink()
            raise ChecksumError(
                f"{file.path} of {repository.name} does not have the digest {file.digest} that the hub states; the "
                "download was discarded. Run the command again; if it fails again, check proxies and HF_ENDPOINT"
            )
        _sync(partial)
        partial.rename(target)


def fill(hub: "Hub", repository: Repository, file: RepoFile, target: Path, meter: Meter, until: int) -> None:
    """Download `file` into its partial file until that has at least `until` bytes or is complete."""
    partial = partial_of(target)
    with no_room_errors(target.parent):
        target.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("ab") as stream:
            if stream.tell() > file.nbytes:
                _discard(stream, file, meter)
            hub.repeat(lambda: _append(hub, repository, file, stream, meter, min(until, file.nbytes)), meter.progress)


def partial_of(target: Path) -> Path:
    """Return the path of the partial file of `target`."""
    return target.with_name(f"{target.name}.partial")


def present_bytes(target: Path) -> int:
    """Return the number of bytes of `target` that are on this disk, complete or partial."""
    for path in (target, partial_of(target)):
        if path.exists():
            return path.stat().st_size
    return 0


def _append(hub: "Hub", repository: Repository, file: RepoFile, stream: BinaryIO, meter: Meter, until: int) -> bool:
    """Append what one request brings. Return whether the partial file has `until` bytes."""
    before = stream.tell()
    if before >= until:
        return True
    try:
        with hub.open(repository, file, before) as (start, pieces):
            if start != before:
                _discard(stream, file, meter)
            for piece in pieces:
                stream.write(piece)
                stream.flush()
                meter.add(len(piece), file.path)
                if stream.tell() >= until:
                    return True
    except TransientError:
        if stream.tell() > before:
            return False
        raise
    if stream.tell() <= before:
        raise TransientError(f"{file.path} of {repository.name} ended early: run the command again, which continues")
    return False


def _discard(stream: BinaryIO, file: RepoFile, meter: Meter) -> None:
    meter.add(-stream.tell(), file.path)
    stream.truncate(0)
    stream.seek(0)


def _sync(path: Path) -> None:
    with path.open("rb") as stream:
        os.fsync(stream.fileno())


def _is_intact(path: Path, file: RepoFile) -> bool:
    if path.stat().st_size != file.nbytes:
        return False
    digest = hashlib.sha256() if file.sha256 else hashlib.sha1(f"blob {file.nbytes}\0".encode(), usedforsecurity=False)
    with path.open("rb") as stream:
        while piece := stream.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest() == file.digest
