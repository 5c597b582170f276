"""Tie of a process to the process that started it."""

import ctypes
import os
import signal
from typing import Final

_PR_SET_PDEATHSIG: Final = 1


def die_with(parent: int) -> None:
    """Have Linux kill this process when the thread that spawned it ends.

    On other systems the closed connection to `parent` ends the process a little later.
    """
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:
        prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL))
    if os.getppid() != parent:
        os._exit(1)
