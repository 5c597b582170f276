"""The pauses of the machine itself, which a busy or a virtual one may have. A stream cannot be faster than these."""

import threading
import time
from typing import Final

BEAT_SECONDS: Final = 0.05


class Pulse:
    """A thread that wants to run every BEAT_SECONDS.

    longest: longest time since `reset` for which the machine did not let it run, in seconds.
    """

    def __init__(self) -> None:
        self.longest = 0.0
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._is_over.set()
        self._thread.join()

    def reset(self) -> None:
        """Begin to measure."""
        self.longest = 0.0

    def _beat(self) -> None:
        began = time.monotonic()
        while not self._is_over.wait(BEAT_SECONDS):
            now = time.monotonic()
            self.longest = max(self.longest, now - began - BEAT_SECONDS)
            began = now
