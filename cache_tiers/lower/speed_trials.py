"""Times at which a tier that no load reads from is measured, so that it is chosen again once it is faster."""

import threading
from collections.abc import Callable
from typing import Final

from cache_tiers.tier import TierId

TRIAL_SECONDS: Final = 5.0


class SpeedTrials:
    """For each tier, the time since its speed was last measured by a read. Thread-safe."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._measured: dict[TierId, float] = {}
        self._lock = threading.Lock()

    def note_read(self, tier: TierId) -> None:
        """Note that blocks are read from `tier`, which measures its speed."""
        with self._lock:
            self._measured[tier] = self._clock()

    def take_due(self, tier: TierId) -> bool:
        """Return whether `tier` was not measured for `TRIAL_SECONDS`. If so, it counts as measured now."""
        now = self._clock()
        with self._lock:
            if now - self._measured.get(tier, -TRIAL_SECONDS) < TRIAL_SECONDS:
                return False
            self._measured[tier] = now
            return True
