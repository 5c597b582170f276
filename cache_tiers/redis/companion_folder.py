"""The companion's folder inside the state directory: its lock, its socket, and the companion of an earlier process."""

import contextlib
import fcntl
import hashlib
import logging
import os
import select
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal, TextIO

from cache_tiers.redis.errors import CompanionError, StateDirInUseError
from cache_tiers.redis.server_binary import LOG, SNAPSHOT

logger = logging.getLogger(__name__)

STUCK_SECONDS = 2.0
"""Seconds without growth of its snapshot after which a server that should save and end is considered stuck."""
_KILLED_SECONDS = 30.0
"""Time for a killed process to end, which takes longer on a busy machine."""

# sockaddr_un.sun_path has 108 bytes, one of them for the terminating zero.
_LONGEST_SOCKET_PATH = 107


def companion_folder(state_dir: Path) -> Path:
    """Return the folder in which the companion of a state directory keeps its files."""
    return state_dir.resolve() / "redis"


def has_snapshot(state_dir: Path) -> bool:
    """Return whether the companion of a state directory has left blocks, which the next one loads."""
    return (companion_folder(state_dir) / SNAPSHOT).exists()


class CompanionFolder:
    """The folder `<state_dir>/redis`, mode 0700, locked for this process until `close`.

    The constructor raises StateDirInUseError if another process holds the lock, CompanionError if the folder cannot be
    used.
    """

    def __init__(self, state_dir: Path) -> None:
        self.path = companion_folder(state_dir)
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.path.chmod(0o700)
            self._lock = _lock(self.path / "lock", state_dir)
        except OSError as error:
            raise CompanionError(f"the folder {self.path} cannot be used: {error.strerror}") from error

    @property
    def pid_file(self) -> Path:
        """File with the process id of the last companion, written before its server runs."""
        return self.path / "redis.pid"

    def close(self) -> None:
        """Release the lock. Remove the socket's folder outside this one, unless a server still uses it."""
        socket = self.socket()
        if socket.parent != self.path:
            with contextlib.suppress(OSError):
                socket.parent.rmdir()
        self._lock.close()

    def socket(self) -> Path:
        """Return `socket_path` of this folder, after creating the private folder that it may need."""
        path = socket_path(self.path)
        if path.parent != self.path:
            _private_folder(path.parent)
        return path

    def wait_for_former(self, timeout: float) -> None:
        """Wait at most `timeout` seconds until the companion of an earlier process has saved and ended.

        A companion that stops writing its snapshot before it has ended, or exceeds the timeout, is killed.
        """
        pidfd = self._open_former()
        if pidfd is None:
            return
        logger.info("waiting for the previous Redis process to save its data")

        def ended(seconds: float) -> bool:
            return bool(select.select([pidfd], [], [], seconds)[0])

        try:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(pidfd, signal.SIGTERM)
                if SaveWatch(self, timeout).wait(ended) != "ended":
                    logger.warning("the previous Redis process did not finish saving its data; killing it")
                    signal.pidfd_send_signal(pidfd, signal.SIGKILL)
                    ended(_KILLED_SECONDS)
        finally:
            os.close(pidfd)

    def clean(self) -> None:
        """Remove unfinished snapshots and the old log. Call this only while no companion runs."""
        for path in (*self.path.glob("temp-*.rdb"), self.path / LOG, self.pid_file, self.socket()):
            path.unlink(missing_ok=True)

    def set_snapshot_aside(self) -> bool:
        """Rename a snapshot that no server can load. Return False if there is none."""
        snapshot = self.path / SNAPSHOT
        if not snapshot.exists():
            return False
        aside = snapshot.replace(snapshot.with_suffix(".unreadable"))
        logger.warning("Redis cannot start with its snapshot; continuing without it (kept as %s)", aside)
        return True

    def unfinished_bytes(self) -> int:
        """Return the size of the snapshot being written; 0 if there is none."""
        size = 0
        for path in self.path.glob("temp-*.rdb"):
            with contextlib.suppress(OSError):
                size += path.stat().st_size
        return size

    def log_tail(self) -> str:
        """Return the last lines of the server's log, joined into one."""
        try:
            lines = (self.path / LOG).read_text(errors="replace").splitlines()
        except OSError:
            return "the log is missing"
        return " | ".join(lines[-2:])

    def _open_former(self) -> int | None:
        """Return a pidfd of the former companion if it lives: a process with its id and this working directory."""
        try:
            pidfd = os.pidfd_open(pid := int(self.pid_file.read_text()))
        except (OSError, ValueError):
            return None
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}/cwd").readlink() == self.path:
                return pidfd
        os.close(pidfd)
        return None


class SaveWatch:
    """A wait for a server that saves before it ends, cut short if the server makes no progress."""

    def __init__(self, folder: CompanionFolder, timeout: float) -> None:
        self._folder = folder
        self._timeout = timeout

    def wait(self, ended: Callable[[float], bool]) -> Literal["ended", "stuck", "saving"]:
        """Wait for `ended(seconds)`. Return "saving" if the server is still writing at the timeout."""
        give_up = time.monotonic() + self._timeout
        written = -1
        while (left := give_up - time.monotonic()) > 0:
            if ended(min(left, STUCK_SECONDS)):
                return "ended"
            before, written = written, self._folder.unfinished_bytes()
            if written <= max(before, 0):
                return "stuck"
        return "saving"


def socket_path(folder: Path) -> Path:
    """Return the socket of the companion of `folder`: in the folder or, if that path is too long, in a short one."""
    path = folder / "redis.sock"
    if len(os.fsencode(path)) <= _LONGEST_SOCKET_PATH:
        return path
    name = f"ebb-{os.getuid()}-{hashlib.sha256(os.fsencode(folder)).hexdigest()[:12]}"
    for parent in (Path(tempfile.gettempdir()), Path("/tmp")):
        short = parent / name / "redis.sock"
        if len(os.fsencode(short)) <= _LONGEST_SOCKET_PATH:
            return short
    raise CompanionError("no temporary folder has a path short enough for a socket; set TMPDIR to a shorter path")


def _lock(path: Path, state_dir: Path) -> TextIO:
    file = path.open("a")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise StateDirInUseError(
            f"another Ebb process is using the state directory {state_dir}. Stop it, or use another --state-dir."
        ) from None
    return file


def _private_folder(path: Path) -> None:
    path.mkdir(mode=0o700, exist_ok=True)
    status = path.lstat()
    if status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise CompanionError(f"{path} belongs to another user, or other users may access it")
