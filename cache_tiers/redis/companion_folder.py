"""The companion's folder inside the state directory: its lock, its socket, and the companion of an earlier process."""

import contextlib
import fcntl
import hashlib
import logging
import os
import select
import signal
import tempfile
from pathlib import Path
from typing import TextIO

from cache_tiers.redis.errors import CompanionError, StateDirInUseError
from cache_tiers.redis.server_binary import LOG

logger = logging.getLogger(__name__)

_END_SECONDS = 5.0
"""Time for a former companion, which has nothing to save, to end."""
_KILLED_SECONDS = 30.0
"""Time for a killed process to end, which takes longer on a busy machine."""

# sockaddr_un.sun_path has 108 bytes, one of them for the terminating zero.
_LONGEST_SOCKET_PATH = 107


def companion_folder(state_dir: Path) -> Path:
    """Return the folder in which the companion of a state directory keeps its files."""
    return state_dir.resolve() / "redis"


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

    def wait_for_former(self) -> None:
        """Wait until the companion of an earlier process has ended. Kill it if that takes long."""
        pidfd = self._open_former()
        if pidfd is None:
            return

        def ended(seconds: float) -> bool:
            return bool(select.select([pidfd], [], [], seconds)[0])

        try:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(pidfd, signal.SIGTERM)
                if not ended(_END_SECONDS):
                    logger.warning("the previous Redis process did not end; killing it")
                    signal.pidfd_send_signal(pidfd, signal.SIGKILL)
                    ended(_KILLED_SECONDS)
        finally:
            os.close(pidfd)

    def clean(self) -> None:
        """Remove the old log, and snapshots that earlier versions kept. Call this only while no companion runs."""
        for path in (*self.path.glob("*.rdb"), self.path / LOG, self.pid_file, self.socket()):
            path.unlink(missing_ok=True)

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
