"""Scheduling of batch writes: one at a time, tenants in turn, and throttled while answers are being generated.

Imports, removals and upkeep are split into short transactions. Each transaction still takes a core from the model,
whose threads wait for one another. A stream of batches would therefore slow down the answers of all tenants.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from engine.process.fair_places import FairPlaces

BUSY_SHARE: Final = 0.1
"""Fraction of the time that batches may take while answers are being generated."""
LONGEST_PAUSE: Final = 1.0
"""Maximum pause in seconds. A slow batch waited for the disk or for a lock, which delays no answer."""
MAX_WAITING: Final = 1 << 16
"""Maximum number of waiting batches per tenant. Requests and tasks, which write them, have limits of their own."""


class BatchTurns:
    """Turns of the tenants at writing a batch.

    is_busy: tells whether answers are being generated. While none are, batches follow each other without a pause.
    """

    def __init__(self) -> None:
        self.is_busy: Callable[[], bool] = lambda: False
        self._places = FairPlaces(1, most_waiting=MAX_WAITING)
        self._rested_at = 0.0

    @asynccontextmanager
    async def turn(self, tenant: str) -> AsyncIterator[Callable[[], None]]:
        """Wait for a turn of `tenant`, and hold it within the context.

        Yields a function to call when the work begins, from any thread. The pause after the turn is proportional to
        the duration of the work.
        """
        async with self._places.place(tenant):
            pause = self._rested_at - time.monotonic()
            if pause > 0 and self.is_busy():
                await asyncio.sleep(pause)
            began = time.monotonic()

            def begin() -> None:
                nonlocal began
                began = time.monotonic()

            try:
                yield begin
            finally:
                ended = time.monotonic()
                self._rested_at = ended + min((ended - began) * (1 - BUSY_SHARE) / BUSY_SHARE, LONGEST_PAUSE)
