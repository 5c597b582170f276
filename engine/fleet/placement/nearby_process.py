"""A process of this machine, whichever process has started it."""

import asyncio
import contextlib
import os
import signal
from pathlib import Path
from typing import Final

from msgspec import Struct

_START_FIELD: Final = 19
"""Place of the start time after the name of the program in /proc/PID/stat (proc_pid_stat(5), field 22)."""


class ProcessIdentity(Struct, frozen=True):
    """Identity of a process, of which no two processes of any machine have the same."""

    machine: str
    """Boot of the machine and namespace of the process ids; empty where the system has none."""
    pid: int
    started: int
    """Start of the process, in clock ticks since the boot."""

    @classmethod
    def own(cls) -> "ProcessIdentity":
        """Return the identity of this process."""
        return cls(_machine(), os.getpid(), _started(os.getpid()) or 0)

    @property
    def is_here(self) -> bool:
        """Whether the process runs on this machine, or has just ended there."""
        return bool(self.machine) and self.machine == _machine() and _started(self.pid) == self.started


class NearbyProcess:
    """Handle on a process, which stays valid after the process has ended."""

    def __init__(self, descriptor: int, pid: int) -> None:
        self._descriptor = descriptor
        self._pid = pid

    @classmethod
    def find(cls, identity: ProcessIdentity) -> "NearbyProcess | None":
        """Return the process; None if it has ended, belongs to another machine, or the system has no such handles."""
        if not hasattr(os, "pidfd_open"):
            return None
        try:
            descriptor = os.pidfd_open(identity.pid)
        except OSError:
            return None
        if not identity.is_here:
            # Another process has the number.
            os.close(descriptor)
            return None
        return cls(descriptor, identity.pid)

    def kill(self) -> None:
        """End the process at once. Do nothing if it has ended, or belongs to another user."""
        with contextlib.suppress(OSError):
            signal.pidfd_send_signal(self._descriptor, signal.SIGKILL)

    async def ended(self) -> None:
        """Wait until the process has ended. Call this at most once."""
        loop = asyncio.get_running_loop()
        ended = asyncio.Event()
        loop.add_reader(self._descriptor, ended.set)
        try:
            await ended.wait()
        finally:
            loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            _take_note(self._pid)


def _take_note(pid: int) -> None:
    """Remove an ended process from the system's table, if this process has started it."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def _machine() -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}:{os.stat('/proc/self/ns/pid').st_ino}"
    except OSError:
        return ""


def _started(pid: int) -> int | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The name is in parentheses, and may itself contain some.
    return int(stat.rpartition(")")[2].split()[_START_FIELD])
