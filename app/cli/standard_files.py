"""Standard files of a command that are closed, or that take no more text."""

import errno
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Final

NO_ROOM: Final = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
"""Errors of a write to a disk that is full or broken, or to a file of the largest allowed size."""

READER_LEFT: Final = 128 + signal.SIGPIPE
"""Exit status of a command whose output is not read to its end, as in `ebb pull | head -1`."""


def open_closed_files() -> None:
    """Open /dev/null in place of each standard file that is closed. Some init scripts close them.

    Otherwise Python has None there, and the next file that is opened would have the descriptor.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            file = open(os.devnull, mode)  # noqa: SIM115
            os.set_inheritable(file.fileno(), True)
            setattr(sys, name, file)


def with_output(command: Callable[[], int]) -> int:
    """Run a command, write all of its output, and return the exit status."""
    try:
        status = command()
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_output()
        return READER_LEFT
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        with suppress(OSError):
            print(f"ebb: cannot write {error.filename or 'the output'}: {error.strerror}", file=sys.stderr)
        _drop_output()
        return 1
    return status


def _drop_output() -> None:
    """Drop the text that cannot be written. Otherwise Python would try again at its end, and complain."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
