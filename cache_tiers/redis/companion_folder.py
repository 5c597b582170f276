"""The folder of the companion inside the state directory: its lock, its socket, and the process that used it before."""

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
"""Seconds without a byte more in its snapshot after which a server that should save and end never will."""

# sockaddr_un.sun_path has 108 bytes, one of them for the terminating zero.
_LONGEST_SOCKET_PATH = 107


def companion_folder(state_dir: Path) -> Path:
    """Where the companion of a state directory keeps what it has."""
    return state_dir.resolve() / "redis"


class CompanionFolder:
    """`<state_dir>/redis`, 0700, locked for this process while the object is open.

    Raises StateDirInUseError if another process holds the lock, CompanionError if the folder cannot be used.
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
        """Holds the process id of the last companion, written before it became one."""
        return self.path / "redis.pid"

    def close(self) -> None:
        """Let another process have it. What the socket needed elsewhere is removed, unless a server still uses it."""
        socket = self.socket()
        if socket.parent != self.path:
            with contextlib.suppress(OSError):
                socket.parent.rmdir()
        self._lock.close()

    def socket(self) -> Path:
        """`socket_path` of this folder, where a server may make its socket."""
        path = socket_path(self.path)
        if path.parent != self.path:
            _private_folder(path.parent)
        return path

    def wait_for_former(self, timeout: float) -> None:
        """Wait until the companion of an earlier process has saved and ended, `timeout` seconds at most.

        A companion that stops writing its snapshot before it has ended, or passes the timeout, is killed.
        """
        pidfd = self._open_former()
        if pidfd is None:
            return
        logger.info("waiting for the former Redis to save its data")

        def ended(seconds: float) -> bool:
            return bool(select.select([pidfd], [], [], seconds)[0])

        try:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(pidfd, signal.SIGTERM)
                if SaveWatch(self, timeout).wait(ended) != "ended":
                    logger.warning("the former Redis did not save its data and end: killed")
                    signal.pidfd_send_signal(pidfd, signal.SIGKILL)
                    ended(timeout)
        finally:
            os.close(pidfd)

    def clean(self) -> None:
        """Remove unfinished snapshots and the old log; only while no companion runs."""
        for path in (*self.path.glob("temp-*.rdb"), self.path / LOG, self.pid_file, self.socket()):
            path.unlink(missing_ok=True)

    def set_snapshot_aside(self) -> bool:
        """Rename a snapshot that no server wants to load; False if there is none."""
        snapshot = self.path / SNAPSHOT
        if not snapshot.exists():
            return False
        aside = snapshot.replace(snapshot.with_suffix(".unreadable"))
        logger.warning("Redis does not start with its snapshot: continuing without it (kept as %s)", aside)
        return True

    def unfinished_bytes(self) -> int:
        """Return the size of the snapshot that a server is writing, 0 if there is none."""
        size = 0
        for path in self.path.glob("temp-*.rdb"):
            with contextlib.suppress(OSError):
                size += path.stat().st_size
        return size

    def log_tail(self) -> str:
        """The last words of the server, on one line."""
        try:
            lines = (self.path / LOG).read_text(errors="replace").splitlines()
        except OSError:
            return "it wrote no log"
        return " | ".join(lines[-2:])

    def _open_former(self) -> int | None:
        """A pidfd of the former companion if it lives: a process with its id that works in this very folder."""
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
    """A wait for a server that saves its data before it ends, and ends early if the server makes no progress."""

    def __init__(self, folder: CompanionFolder, timeout: float) -> None:
        self._folder = folder
        self._timeout = timeout

    def wait(self, ended: Callable[[float], bool]) -> Literal["ended", "stuck", "saving"]:
        """Return how the wait for `ended(seconds)` ended: "saving" if the server still writes after the timeout."""
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
    """Where the companion of `folder` listens: there or, where that path is too long, in a short private folder."""
    path = folder / "redis.sock"
    if len(os.fsencode(path)) <= _LONGEST_SOCKET_PATH:
        return path
    name = f"ebb-{os.getuid()}-{hashlib.sha256(os.fsencode(folder)).hexdigest()[:12]}"
    for parent in (Path(tempfile.gettempdir()), Path("/tmp")):
        short = parent / name / "redis.sock"
        if len(os.fsencode(short)) <= _LONGEST_SOCKET_PATH:
            return short
    raise CompanionError("no folder for temporary files has a path short enough for a socket")


def _lock(path: Path, state_dir: Path) -> TextIO:
    file = path.open("a")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise StateDirInUseError(
            f"another Ebb is running with the state directory {state_dir}: stop it, or give this one its own"
        ) from None
    return file


def _private_folder(path: Path) -> None:
    path.mkdir(mode=0o700, exist_ok=True)
    status = path.lstat()
    if status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise CompanionError(f"{path} belongs to somebody else")
