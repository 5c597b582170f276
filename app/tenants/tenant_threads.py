"""Threads for the long work of tenants: reading files and bodies, and rendering pages."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from traceback import clear_frames
from typing import Final, TypeVar

from engine.process.fair_places import FairPlaces

T = TypeVar("T")

THREADS: Final = 4
MOST_OF_ONE: Final = 1
"""Threads of one tenant, so that others find some. All other threads of the server stay free of this work."""


class TenantThreads:
    """Owner of the threads, and of the lines in which tenants wait for them. All calls come from one event loop."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="tenant")
        self._places = FairPlaces(THREADS, most_of_one=MOST_OF_ONE)

    async def run(self, tenant: str, work: Callable[[], T]) -> T:
        """Return what `work` returns on a thread, in the tenant's turn. Raise OverloadedError if too many wait.

        A caller that is cancelled stops waiting. Work that has begun holds its thread, and the tenant's place, until
        it ends.

        tenant: "" for callers without one, which share a place.
        """
        await self._places.take(tenant)
        running = asyncio.get_running_loop().run_in_executor(self._threads, _with_freed_frames, work)
        running.add_done_callback(lambda _: self._places.free(tenant))
        return await asyncio.shield(running)

    def close(self) -> None:
        """Begin no more work."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def _with_freed_frames(work: Callable[[], T]) -> T:
    """Return what `work` returns. If it fails, what its frames held is freed here, and not on the event loop."""
    try:
        return work()
    except BaseException as error:
        clear_frames(error.__traceback__)
        raise
