"""What is asked of the engine when nobody else asks for anything."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress

from app.backend import Backend
from engine.errors import EbbError
from engine.urgency import Urgency

logger = logging.getLogger(__name__)

LAST = (1 << 31) - 1
"""Of all priorities."""


def is_busy(engine: Backend, *, but: int = 0) -> bool:
    """Whether it has more requests than `but`."""
    stats = engine.stats()
    return stats.running + stats.waiting + stats.loading + stats.following > but


def behind_all(engine: Backend) -> Urgency:
    """Whoever comes goes first; under "fcfs" there are no priorities."""
    return Urgency(0 if engine.config.queue_policy == "fcfs" else LAST)


class IdleTasks:
    """Owner of tasks that wait for their turn; one of them works at a time."""

    def __init__(self, failed: str, *, poll_seconds: float, patience_seconds: float) -> None:
        """failed: what the log says of one that came to nothing. poll_seconds: between two attempts."""
        self._failed = failed
        self._poll_seconds = poll_seconds
        self._patience_seconds = patience_seconds
        self._tasks: set[asyncio.Task[None]] = set()
        self._working = asyncio.Lock()

    def begin(self, work: Coroutine[None, None, None]) -> None:
        """Run `work` beside all others, until `stop`."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def succeed(self, run_id: str, attempt: Callable[[], Awaitable[bool]]) -> None:
        """Call `attempt` until it says True, or patience ends. Never fails."""
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._patience_seconds), self._working:
                    while True:
                        if await attempt():
                            return
                        await asyncio.sleep(self._poll_seconds)
        except EbbError as error:
            # Deleted meanwhile, too long for one more question, or the server stops.
            logger.debug("%s: %s: %s", run_id, self._failed, error.message)
        except Exception:
            logger.exception("%s: %s", run_id, self._failed)

    async def settled(self) -> None:
        """Wait until there is none any more."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def stop(self) -> None:
        """What has not been done stays undone."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
