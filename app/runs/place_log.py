"""The file that says which resumed runs had a place in the batch when a process died.

A run that kills the server must not be resumed forever, and a run that only waited in the queue must not be blamed. So
a resumed run is noted in the step that gives it its place, before anything is computed for it. The note is one write of
a line, which outlives the process but not the machine. A process that hands its runs over removes the file.

A disk may hang in the middle of a write. The step then continues without the note, which is written once the disk
answers.
"""

import logging
import os
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path
from typing import Final

logger = logging.getLogger(__name__)

PATIENCE_SECONDS: Final = 0.05
"""Time for which a step waits for a note."""


class PlaceLog:
    """Owner of the file. `read` concerns the former process, everything else this one."""

    def __init__(self, path: Path) -> None:
        """Create the owner of the file at `path`, without opening the file."""
        self._path = path
        self._descriptor: int | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="places")
        self._newest: Future[None] | None = None

    def read(self) -> dict[str, int]:
        """Return the runs that had a place when the former process died, with their token counts at the resumption."""
        try:
            lines = self._path.read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError):
            return {}
        pairs = (line.split() for line in lines)
        # The last line may be truncated.
        return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}

    def begin(self) -> None:
        """Forget the former process, whose runs are counted in the database by now."""
        try:
            self._descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        except OSError as error:
            logger.warning(
                "%s cannot be written, so an answer that crashes the server cannot be identified: %s", self._path, error
            )

    def note(self, run_id: str, num_tokens: int) -> None:
        """Note that a run, resumed with `num_tokens` tokens, has its place now. Never raises.

        Return once the note is written, or after PATIENCE_SECONDS, or at once while an earlier note is not written.
        """
        if self._descriptor is None:
            return
        is_late = self._newest is not None and not self._newest.done()
        self._newest = self._thread.submit(_write, self._descriptor, f"{run_id} {num_tokens}\n".encode())
        if not is_late:
            wait([self._newest], PATIENCE_SECONDS)

    def close(self, *, clean: bool) -> None:
        """Close the file. clean: this process hands its runs over, and none of them is to blame for its end."""
        self._thread.shutdown()
        if self._descriptor is None:
            return
        os.close(self._descriptor)
        self._descriptor = None
        if clean:
            with suppress(OSError):
                self._path.unlink()


def _write(descriptor: int, line: bytes) -> None:
    with suppress(OSError):
        os.write(descriptor, line)
