"""Times at which tokens are due: step n at n * STEP_SECONDS of the monotonic clock, which all processes share.

A token names its step, so its reader knows how late the token is. Lateness counts from when the engine should have
produced the token, not from when a busy server got round to it.
"""

import time
from typing import Final

STEP_SECONDS: Final = 0.05
"""20 events a second for each stream."""


def steps_until(now: float, step_seconds: float = STEP_SECONDS) -> int:
    """Return the newest step that is due at `now` (time.monotonic)."""
    return int(now / step_seconds)


def lateness(step: int, now: float) -> float:
    """Return the seconds since `step` was due."""
    return now - step * STEP_SECONDS


def clock() -> float:
    """Read CLOCK_MONOTONIC, in seconds."""
    return time.monotonic()
