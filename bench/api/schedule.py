"""When tokens are due: step n at n * STEP_SECONDS of the machine's monotonic clock, which all its processes share.

A token says its step, so whoever reads it knows how late it is, counted from when the engine should have had it and not
from when a server that was busy came round to it.
"""

import time
from typing import Final

STEP_SECONDS: Final = 0.05
"""20 events a second for each stream."""


def steps_until(now: float, step_seconds: float = STEP_SECONDS) -> int:
    """The newest step that is due at `now` (time.monotonic)."""
    return int(now / step_seconds)


def lateness(step: int, now: float) -> float:
    """Seconds since `step` was due."""
    return now - step * STEP_SECONDS


def clock() -> float:
    """CLOCK_MONOTONIC, in seconds."""
    return time.monotonic()
