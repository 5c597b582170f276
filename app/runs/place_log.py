"""The file that says which resumed runs had a place in the batch when a process died.

A run that kills the server must not be resumed forever, and a run that only waited in the queue must not be blamed. So
a resumed run is noted in the step that gives it its place, before anything is computed for it. The note is one write of
a line, which outlives the process but not the machine. A process that hands its runs over removes the file.
"""

import logging
import os
from contextlib import suppress
from pathlib import Path

logger = logging.getLogger(__name__)


class PlaceLog:
    """Owner of the file. `read` concerns the former process, everything else this one."""

    def __init__(self, path: Path) -> None:
        """Create the owner of the file at `path`, without opening the file."""
        self._path = path
        self._descriptor: int | None = None

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
        """Note that a run, resumed with `num_tokens` tokens, has its place now. Never raises."""
        if self._descriptor is not None:
            with suppress(OSError):
                os.write(self._descriptor, f"{run_id} {num_tokens}\n".encode())

    def close(self, *, clean: bool) -> None:
        """Close the file. clean: this process hands its runs over, and none of them is to blame for its end."""
        if self._descriptor is None:
            return
        os.close(self._descriptor)
        self._descriptor = None
        if clean:
            with suppress(OSError):
                self._path.unlink()
