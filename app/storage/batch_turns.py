"""When batches of long work are written: one at a time, tenants in turn, and seldom while a model answers.

Imports, removals and upkeep are split into short transactions. Each of them still takes a core from the model, whose
threads wait for one another, so a stream of batches would slow down everybody's answers.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from engine.fair_places import FairPlaces

BUSY_SHARE: Final = 0.1
"""Part of the time that batches take while answers are computed."""
LONGEST_PAUSE: Final = 1.0
"""Seconds. A batch that took long waited for the disk or for a lock, which costs no answer anything."""
MOST_WAITING: Final = 1 << 16
"""Batches of one tenant. There are no more than requests and tasks, which have limits of their own."""


class BatchTurns:
    """The turn to write a batch.

    is_busy: whether answers are computed now. Without them, batches follow each other without a pause.
    """

    def __init__(self) -> None:
        self.is_busy: Callable[[], bool] = lambda: False
        self._places = FairPlaces(1, most_waiting=MOST_WAITING)
        self._rested_at = 0.0

    @asynccontextmanager
    async def turn(self, tenant: str) -> AsyncIterator[Callable[[], None]]:
        """Wait for a tenant's turn and hold it. Yields a function to call when the work begins; any thread may."""
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
