"""How late the event loop is: what a request waits for before anything of ours looks at it.

A timer that should ring every PROBE_SECONDS tells how late it rang. A stop of the loop that is shorter than that may be
missed, and a longer one seems shorter by at most as much.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Final

PROBE_SECONDS: Final = 0.02


class LoopLag:
    """One timer on the running loop. `observe` gets seconds."""

    def __init__(self, observe: Callable[[float], None]) -> None:
        self._observe = observe
        self._due = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """From now on."""
        # Not the loop's own time, which stands still while callbacks run.
        self._due = time.monotonic() + PROBE_SECONDS
        self._timer = asyncio.get_running_loop().call_later(PROBE_SECONDS, self._ring)

    def stop(self) -> None:
        """No more."""
        if self._timer is not None:
            self._timer.cancel()

    def _ring(self) -> None:
        self._observe(max(0.0, time.monotonic() - self._due))
        self.begin()
