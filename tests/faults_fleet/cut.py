"""Connections of another process, cut from outside (Linux; the process must be a descendant, or the caller root)."""

import ctypes
import os
import socket
from collections.abc import Collection
from pathlib import Path
from typing import Final

_PIDFD_GETFD: Final = 438
"""Number of the system call, the same on all architectures that have it (pidfd_getfd(2))."""
_ESTABLISHED: Final = "01"


def cut_connections(pid: int, ports: Collection[int]) -> int:
    """Shut down all TCP connections of the process `pid` to `ports`. Return their number."""
    wanted = _inodes(pid, ports)
    process = os.pidfd_open(pid)
    num_cut = 0
    try:
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            if descriptor.is_socket() and descriptor.stat().st_ino in wanted:
                with socket.socket(fileno=_taken(process, int(descriptor.name))) as copy:
                    copy.shutdown(socket.SHUT_RDWR)
                num_cut += 1
    finally:
        os.close(process)
    return num_cut


def _taken(process: int, descriptor: int) -> int:
    """Return a copy of another process's descriptor."""
    libc = ctypes.CDLL(None, use_errno=True)
    copy: int = libc.syscall(_PIDFD_GETFD, process, descriptor, 0)
    if copy < 0:
        raise OSError(ctypes.get_errno(), f"pidfd_getfd: {os.strerror(ctypes.get_errno())}")
    return copy


def _inodes(pid: int, ports: Collection[int]) -> set[int]:
    """Return the inodes of the sockets in the process's network that are connected to `ports`, at either end."""
    found = set()
    for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[3] == _ESTABLISHED and int(fields[2].rpartition(":")[2], 16) in ports:
            found.add(int(fields[9]))
    return found
