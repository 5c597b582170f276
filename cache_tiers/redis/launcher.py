"""Launcher that becomes a server, which gets SIGTERM when the thread that started it ends, even by kill -9.

Run as a script by a fresh interpreter, because no Python code may run between fork and exec in a process with threads:
`python -I -S launcher.py PARENT_PID PID_FILE SERVER ARGUMENTS...`
"""

import ctypes
import os
import signal
import sys
from pathlib import Path

_PR_SET_PDEATHSIG = 1


def main(parent_pid: str, pid_file: str, *server: str) -> None:
    """Replace this process with the server. Returns only if the parent is already gone."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM))
    if os.getppid() != int(parent_pid):
        return
    Path(pid_file).write_text(str(os.getpid()))
    os.execv(server[0], server)


if __name__ == "__main__":
    main(*sys.argv[1:])
