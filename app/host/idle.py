"""Requests that the server sends to the engine while the engine is idle."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress

from app.host.backend import Backend
from engine.errors import EbbError
from engine.urgency import Urgency

logger = logging.getLogger(__name__)

LAST = (1 << 31) - 1
"""Lowest priority."""


def is_busy(engine: Backend, *, exclude: int = 0) -> bool:
    """Return whether the engine has more than `exclude` requests."""
    stats = engine.stats()
    return stats.running + stats.waiting + stats.loading + stats.following > exclude


def behind_all(engine: Backend) -> Urgency:
    """Return an urgency lower than that of all other requests. Under "fcfs" there are no priorities."""
    return Urgency(0 if engine.config.queue_policy == "fcfs" else LAST)


class IdleTasks:
    """Owner of tasks that wait until the engine is idle. One of them works at a time."""

    def __init__(self, failed: str, *, poll_seconds: float, patience_seconds: float) -> None:
        """Prepare to run tasks.

        failed: the log message for a task that failed.
        poll_seconds: time between two attempts.
        patience_seconds: time after which a task gives up.
        """
        self._failed = failed
        self._poll_seconds = poll_seconds
        self._patience_seconds = patience_seconds
        self._tasks: set[asyncio.Task[None]] = set()
        self._working = asyncio.Lock()

    def begin(self, work: Coroutine[None, None, None]) -> None:
        """Run `work` in the background until `stop`."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def succeed(self, name: str, attempt: Callable[[], Awaitable[bool]]) -> None:
        """Call `attempt` until it returns True or the task runs out of patience. Logs errors and never raises."""
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._patience_seconds), self._working:
                    while True:
                        if await attempt():
                            return
                        await asyncio.sleep(self._poll_seconds)
        except EbbError as error:
            # The conversation was deleted, has no room for one more question, or the server is stopping.
            logger.debug("%s: %s: %s", name, self._failed, error.message)
        except Exception:
            logger.exception("%s: %s", name, self._failed)

    async def join(self) -> None:
        """Wait until all tasks have ended."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def stop(self) -> None:
        """Cancel the tasks. Unfinished work is dropped."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
