"""Turns of the processes that compute native steps on the same cores."""

import os
from contextlib import ExitStack
from pathlib import Path

from engine.api.errors import EngineError


class StepTurns:
    """Membership of one engine in the processes that compute one step at a time (`engine/cpu/kernels/turns.h`).

    turn, place: descriptors of the files whose locks the kernels take.
    """

    def __init__(self, folder: Path) -> None:
        """Open the two files in `folder`, or create them. All processes name the same folder. Raise EngineError."""
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with ExitStack() as opened:
                self.turn = _opened(folder / "turn", opened)
                self.place = _opened(folder / "place", opened)
                self._files = opened.pop_all()
        except OSError as error:
            raise EngineError(
                f"the files by which models take turns cannot be opened in {folder}: {error.strerror}. Make the folder "
                "writable."
            ) from error

    def close(self) -> None:
        """Close the files, which releases their locks."""
        self._files.close()


def _opened(file: Path, files: ExitStack) -> int:
    # A child process that inherits a descriptor would keep the lock of a dead parent.
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    files.callback(os.close, descriptor)
    return descriptor
