"""Finished answers that the database refused to store, kept in memory until it accepts them.

A full disk or a lock held by another process is temporary. Until it clears, the run registry serves these messages. A
turn that follows such an answer first stores all of them (`store_all`). The turn then either fails with the same error
or finds a finished answer, never a stale "in progress". No run begins while an answer is unstored, so their number is
limited to the runs that were live when the database began to refuse writes.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress

from app.domain.records import Message
from app.storage.errors import DatabaseError
from app.storage.runs import RunStore
from engine.errors import ServerError

FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 15.0

REFUSALS = (DatabaseError, ServerError)
"""Errors after which the same write may succeed later."""

logger = logging.getLogger(__name__)


class UnstoredEnds:
    """Owner of the finished answers that are not stored yet, and of the task that stores them."""

    def __init__(self, store: RunStore, on_stored: Callable[[Message], None]) -> None:
        """Create an empty collection.

        on_stored: called with each answer once it is stored or given up.
        """
        self._store = store
        self._on_stored = on_stored
        self._answers: dict[str, tuple[Message, int]] = {}
        self._task: asyncio.Task[None] | None = None
        self._storing: asyncio.Task[None] | None = None

    def __contains__(self, answer: Message) -> bool:
        """Return whether `answer` is waiting to be stored."""
        return answer.id in self._answers

    def __len__(self) -> int:
        """Return the number of answers that are waiting to be stored."""
        return len(self._answers)

    def keep(self, answer: Message, epoch: int = 0) -> None:
        """Keep a finished answer of a run in its `epoch`, and store it once the database accepts it."""
        self._answers[answer.id] = answer, epoch
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._retry(), name="store-ends")

    def drop(self, answer: Message) -> None:
        """Drop an answer whose conversation was removed."""
        self._answers.pop(answer.id, None)

    async def store_all(self) -> None:
        """Store all kept answers. Raises the error with which the database refuses them."""
        if self._storing is None or self._storing.done():
            if not self._answers:
                return
            self._storing = asyncio.create_task(self._store_all(), name="store-all-ends")
        # One attempt serves all callers, because each attempt against a locked database blocks the writer for seconds.
        await asyncio.shield(self._storing)

    async def stop(self) -> None:
        """Try once more, then leave the rest to the next process, which resumes these runs from their stored tokens."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        with suppress(*REFUSALS):
            await self.store_all()
        if self._answers:
            logger.error(
                "the ends of %d answers are not stored; the server resumes these answers at its next start",
                len(self._answers),
            )

    async def _store_all(self) -> None:
        for answer, epoch in list(self._answers.values()):
            try:
                if not await self._store.finish(answer, epoch):
                    logger.warning(
                        "%s: the end was stored already, or another server continues the answer", answer.run_id
                    )
            except REFUSALS:
                raise
            except Exception:
                # If kept, a row that the database can never store would block all others.
                logger.exception("%s: the answer could not be stored and is dropped", answer.run_id)
            if self._answers.pop(answer.id, None) is not None:
                self._on_stored(answer)

    async def _retry(self) -> None:
        pause, kept = FIRST_PAUSE_SECONDS, len(self._answers)
        while self._answers:
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
            kept = max(kept, len(self._answers))
            with suppress(*REFUSALS):
                await self.store_all()
        logger.info("the ends of %d answers are stored now", kept)
