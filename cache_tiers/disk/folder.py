"""Folder of the KV blocks on a disk: its layout, its names and the lock of the process that evicts.

    <folder of the setting>/<digest of the secret>/    mode 0700
        CACHEDIR.TAG, held, shared, times
        <fingerprint>/<last byte of the key>/<key>     mode 0600

Processes with the same secret share the folder. A key begins with its owner, so files are spread by its last byte.
"""

import errno
import fcntl
import os
import stat
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from blake3 import blake3

from cache_tiers.disk.space import existing_part

_CONTEXT: Final = "Ebb 2026-11-30 name of the folder of KV blocks"
_TAG: Final = "Signature: 8a477f597d28d172789f06886806bc55\n# KV blocks of Ebb. They can be computed again.\n"
_NAME_BYTES: Final = 8
_FINGERPRINT_BYTES: Final = 16
_SECTOR_BYTES: Final = 512
"""Unit of `st_blocks`."""
_MODE: Final = 0o700
REFUSALS: Final = frozenset(
    {
        *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EMFILE, errno.ENFILE),
        *(errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO),
        *(errno.EISDIR, errno.ENOTDIR, errno.ENOTEMPTY, errno.EEXIST, errno.ELOOP),
    }
)
"""Errors of one change on a disk that still serves reads."""
DRAFT: Final = ".draft"
"""Suffix of a file that is being written."""


def folder_of(parent: Path, secret: bytes) -> Path:
    """Return the folder below `parent` for the blocks that this secret seals."""
    return parent / blake3(secret, derive_key_context=_CONTEXT).hexdigest(_NAME_BYTES)


def is_folder_name(name: str) -> bool:
    """Return whether `folder_of` may have chosen this name."""
    return _bytes_of(name, _NAME_BYTES) is not None


class DiskFolder:
    """The folder of one secret, and this process' place among those that use it. `create` comes before all else.

    At most one process holds the folder, and evicts. When it ends, however it ends, another one takes its place.

    is_holder: whether this process holds the folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.is_holder = False
        self._device: int | None = None
        self._held = self._shared = self._times = -1
        self._times_lock = threading.Lock()
        self._promised_at = 0

    def create(self) -> None:
        """Create the folder if it does not exist, and open its locks. Raise OSError.

        A folder that was removed is not created on another file system: the disk that held it may not be mounted.
        """
        self.is_holder = False
        if self._device is not None and os.stat(existing_part(self.path)).st_dev != self._device:
            raise FileNotFoundError(errno.ENOENT, "its file system is not mounted")
        self.path.mkdir(mode=_MODE, parents=True, exist_ok=True)
        status = os.stat(self.path)
        # A file system that is read-only refuses even a change to the same mode.
        if stat.S_IMODE(status.st_mode) != _MODE:
            self.path.chmod(_MODE)
        self._device = status.st_dev
        with suppress(FileExistsError), (self.path / "CACHEDIR.TAG").open("x") as tag:
            tag.write(_TAG)
        with self._times_lock:
            self._close()
            # A descriptor that is open for writing would keep the file system from being remounted read-only.
            self._held, self._shared, self._times = self._open("held"), self._open("shared"), self._open("times")
            self._promised_at = os.fstat(self._times).st_mtime_ns
        _lock(self._shared, fcntl.LOCK_SH)

    def is_current(self) -> bool:
        """Return whether the locks are those of the folder that is there now. Raise OSError, also if there is none.

        Without them, two processes would evict in a folder that was replaced, such as by a copy.
        """
        os.stat(self.path)
        try:
            there = os.stat(self.path / "held")
        except FileNotFoundError:
            return False
        return self._held >= 0 and os.path.samestat(there, os.fstat(self._held))

    def _open(self, name: str) -> int:
        return os.open(self.path / name, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def hold(self) -> bool:
        """Become the process that evicts, unless another one is. Return whether this process is."""
        if not self.is_holder and _lock(self._held, fcntl.LOCK_EX):
            self.is_holder = True
            _lock(self._shared, fcntl.LOCK_UN)
        return self.is_holder

    def is_alone(self) -> bool:
        """Return whether no other process uses the folder, which this process holds."""
        if not _lock(self._shared, fcntl.LOCK_EX):
            return False
        _lock(self._shared, fcntl.LOCK_UN)
        return True

    @contextmanager
    def changing_times(self) -> Iterator[None]:
        """Let no other thread or process change times of files that it has read, or evict a file, for some moments."""
        with self._times_lock:
            if self._times < 0:
                raise FileNotFoundError(errno.ENOENT, "the folder is missing")
            fcntl.flock(self._times, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.flock(self._times, fcntl.LOCK_UN)

    def have_others_promised(self) -> bool:
        """Return whether another process has made or ended promises since the last call. Call in `changing_times`."""
        before, self._promised_at = self._promised_at, os.fstat(self._times).st_mtime_ns
        return self._promised_at != before

    def note_promises(self, paths: Iterable[str]) -> None:
        """Show other processes that promises of these files were made or ended. Call in `changing_times`.

        The folders of the files count as changed, so that these processes read them again. Raise OSError.
        """
        now = time.time_ns()
        for place in {os.path.dirname(path) for path in paths}:
            os.utime(place, ns=(now, now))
        os.utime(self._times, ns=(now, now))
        self._promised_at = os.fstat(self._times).st_mtime_ns

    def file_of(self, fingerprint: bytes, key: bytes) -> str:
        """Return the path of a value."""
        name = key.hex()
        return f"{self.path}/{fingerprint.hex()}/{name[-2:]}/{name}"

    def shards(self) -> list[tuple[bytes, str]]:
        """Return the fingerprint and the path of each folder that may hold values. Raise OSError."""
        return shards_of(self.path)

    def fingerprints(self) -> list[bytes]:
        """Return the fingerprints of all models that have values here. Raise OSError."""
        return _fingerprints_in(self.path)

    def make_shard(self, path: str) -> None:
        """Create the folder of the file `path`. Raise OSError, also if this folder is missing."""
        shard = Path(path).parent
        for folder in (shard.parent, shard):
            with suppress(FileExistsError):
                folder.mkdir(mode=_MODE)

    def remove(self) -> None:
        """Remove the folder, which must hold no values. Raise OSError if it holds something else."""
        for name in ("CACHEDIR.TAG", "held", "shared", "times"):
            (self.path / name).unlink(missing_ok=True)
        self.path.rmdir()

    def close(self) -> None:
        """Let another process hold the folder."""
        with self._times_lock:
            self._close()

    def _close(self) -> None:
        for descriptor in (self._held, self._shared, self._times):
            if descriptor >= 0:
                os.close(descriptor)
        self._held = self._shared = self._times = -1


def shards_of(path: Path) -> list[tuple[bytes, str]]:
    """Return the fingerprint and the path of each folder in `path` that may hold values. Raise OSError.

    Whatever else people and programs put there is left out.
    """
    shards: list[tuple[bytes, str]] = []
    for fingerprint in _fingerprints_in(path):
        # Another process may remove it, and another user may own it.
        with suppress(FileNotFoundError, PermissionError):
            names = _folders_in(f"{path}/{fingerprint.hex()}")
            shards += [(fingerprint, f"{path}/{fingerprint.hex()}/{name}") for name in names if _bytes_of(name, 1)]
    return shards


def _fingerprints_in(path: Path) -> list[bytes]:
    found = (_bytes_of(name, _FINGERPRINT_BYTES) for name in _folders_in(str(path)))
    return [fingerprint for fingerprint in found if fingerprint is not None]


def _folders_in(path: str) -> list[str]:
    with os.scandir(path) as entries:
        return [entry.name for entry in entries if entry.is_dir()]


def synchronize(folder: str) -> None:
    """Wait until the medium has noted which files are in `folder`, if it exists. Raise OSError."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def disk_bytes(status: os.stat_result) -> int:
    """Return the bytes that a file takes on the disk. Some file systems count them late, or never."""
    return max(status.st_size, status.st_blocks * _SECTOR_BYTES)


def is_own(name: str) -> bool:
    """Return whether a file with this name in a shard is a value, or a draft of one."""
    return key_of(name) is not None or name.endswith(DRAFT)


def key_of(name: str) -> bytes | None:
    """Return the key that a file's name states; None for a file that is no value."""
    return _bytes_of(name, 32)


def _bytes_of(name: str, count: int) -> bytes | None:
    try:
        raw = bytes.fromhex(name)
    except ValueError:
        return None
    return raw if len(raw) == count and name == raw.hex() else None


def _lock(descriptor: int, operation: int) -> bool:
    try:
        fcntl.flock(descriptor, operation | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
