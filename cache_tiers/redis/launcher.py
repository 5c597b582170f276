"""Becomes a server that gets SIGTERM when the thread that started it ends, also when that was kill -9.

Run as a script by a fresh interpreter, because no Python code may run between fork and exec in a process with threads:
`python -I -S launcher.py PARENT_PID PID_FILE SERVER ARGUMENTS...`
"""

import ctypes
import os
import signal
import sys
from pathlib import Path

_PR_SET_PDEATHSIG = 1

# A block is larger than what allocators keep: without this every value is mapped, faulted in and unmapped anew, which
# costs more than copying it. For jemalloc with and without the prefix of Redis's own build, and for glibc.
KEEP_PAGES = {
    "MALLOC_CONF": "dirty_decay_ms:-1,muzzy_decay_ms:-1",
    "JE_MALLOC_CONF": "dirty_decay_ms:-1,muzzy_decay_ms:-1",
    "MALLOC_MMAP_THRESHOLD_": str(1 << 30),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 32),
}


def main(parent_pid: str, pid_file: str, *server: str) -> None:
    """Never returns, unless the parent is gone already."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM))
    if os.getppid() != int(parent_pid):
        return
    Path(pid_file).write_text(str(os.getpid()))
    os.environ.update(KEEP_PAGES)
    os.execv(server[0], server)


if __name__ == "__main__":
    main(*sys.argv[1:])
