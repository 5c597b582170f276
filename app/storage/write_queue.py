"""The queue before the thread that writes: one write runs at a time, and no client waits without a limit.

A write that has not begun within BEGIN_SECONDS is given up. While the database is away, one write at a time tries it,
and all others are refused at once. A write that has begun cannot be stopped: after WRITE_SECONDS its client hears
that it may be stored or not.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, TypeVar

from app.domain.storage_health import CommitUnknownError, StorageHealth, StorageUnavailableError

T = TypeVar("T")

BEGIN_SECONDS: Final = 8.0
WRITE_SECONDS: Final = 30.0

TOO_LATE: Final = "The database is busy or does not answer, and nothing was stored. Try again in a few seconds."
AWAY: Final = "The database does not answer, and nothing was stored. Try again in a few seconds."


class WriteQueue:
    """Writes that wait for the thread, and the one that runs there."""

    def __init__(self, thread: ThreadPoolExecutor, health: StorageHealth) -> None:
        """Take a thread over. Other work of its owner may run there too, and is waited for."""
        self._thread = thread
        self._health = health
        self._num_waiting = 0

    async def run(self, write: Callable[[], T]) -> T:
        """Run `write` in the thread, and return its result. If the caller is cancelled, it still runs to its end.

        Raise what `write` raises, StorageUnavailableError and CommitUnknownError.
        """
        if self._num_waiting and self._health.is_away:
            raise StorageUnavailableError(AWAY)
        running = self._thread.submit(write)
        result = asyncio.wrap_future(running)
        self._num_waiting += 1
        result.add_done_callback(self._ended)
        await asyncio.wait({result}, timeout=BEGIN_SECONDS)
        if not result.done():
            if running.cancel():
                raise self._failed(StorageUnavailableError(TOO_LATE))
            await asyncio.wait({result}, timeout=WRITE_SECONDS - BEGIN_SECONDS)
        if not result.done():
            raise self._failed(CommitUnknownError(_is_stored(running)))
        return result.result()

    def _ended(self, result: "asyncio.Future[T]") -> None:
        self._num_waiting -= 1
        if not result.cancelled():
            # Read here, in case that the caller was cancelled.
            result.exception()

    def _failed(self, error: StorageUnavailableError) -> StorageUnavailableError:
        self._health.fail(error)
        return error


def _is_stored(running: "Future[T]") -> "Future[bool]":
    """Return whether a write that runs is stored in the end."""
    outcome = Future[bool]()
    running.add_done_callback(lambda ended: outcome.set_result(ended.exception() is None))
    return outcome
