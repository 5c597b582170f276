"""Finished answers that the database refused to store, kept in memory until it accepts them.

A full disk or a lock held by another process is temporary. Until it clears, the run registry serves these messages. A
turn that follows such an answer first stores all of them (`store_all`). The turn then either fails with the same error
or finds a finished answer, never a stale "in progress". No run begins while an answer is unstored, so their number is
limited to the runs that were live when the database began to refuse writes.

An end that the database rejects while it takes other writes delays no other answer. After MOST_REJECTIONS attempts the
answer is stored as failed, without its text. If that is rejected too, the run is left to the next process.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from app.domain.records import Message
from app.http.error_formats import error_body
from app.storage.errors import DatabaseError
from app.storage.runs import RunStore
from engine.api.errors import EngineError, OutageError, ServerError

FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 15.0

MOST_REJECTIONS: Final = 4

REJECTED: Final = "The answer could not be stored, for a reason that the server's log gives. Ask again"

REFUSALS = (DatabaseError, ServerError)
"""Errors after which the same write may succeed later."""

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Unstored:
    """A finished answer of a run in its `epoch`. `rejections` counts how often the database rejected it."""

    answer: Message
    epoch: int
    rejections: int


class UnstoredEnds:
    """Owner of the finished answers that are not stored yet, and of the task that stores them."""

    def __init__(self, store: RunStore, on_stored: Callable[[Message], None]) -> None:
        """Create an empty collection.

        on_stored: called with each answer, in the form that was stored, once it is stored or given up.
        """
        self._store = store
        self._on_stored = on_stored
        self.given_up = set[str]()
        """Runs whose end the database rejects in every form."""
        self._ends: dict[str, _Unstored] = {}
        self._task: asyncio.Task[None] | None = None
        self._storing: asyncio.Task[None] | None = None

    def __contains__(self, answer: Message) -> bool:
        """Return whether `answer` is waiting to be stored."""
        return answer.id in self._ends

    def __len__(self) -> int:
        """Return the number of answers that are waiting to be stored."""
        return len(self._ends)

    def keep(self, answer: Message, epoch: int = 0, *, is_rejected: bool = False) -> None:
        """Keep a finished answer of a run in its `epoch`, and store it once the database accepts it.

        is_rejected: whether the database rejected it while it took other writes.
        """
        self._ends[answer.id] = _Unstored(answer, epoch, int(is_rejected))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._retry(), name="store-ends")

    def drop(self, answer: Message) -> None:
        """Drop an answer whose conversation was removed."""
        self._ends.pop(answer.id, None)

    async def store_all(self) -> None:
        """Store the kept answers, except those that the database rejected. Raise OutageError."""
        if self._storing is None or self._storing.done():
            ends = self._of(is_rejected=False)
            if not ends:
                return
            self._storing = asyncio.create_task(self._store_each(ends), name="store-all-ends")
        # One attempt serves all callers, because each attempt against a locked database blocks the writer for seconds.
        await asyncio.shield(self._storing)

    async def stop(self) -> None:
        """Try once more, then leave the rest to the next process, which resumes these runs from their stored tokens."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        with suppress(OutageError):
            await self.store_all()
        if self._ends:
            logger.error(
                "the ends of %d answers are not stored; the server resumes these answers at its next start",
                len(self._ends),
            )

    def _of(self, *, is_rejected: bool) -> list[_Unstored]:
        return [end for end in self._ends.values() if bool(end.rejections) == is_rejected]

    async def _store_each(self, ends: Iterable[_Unstored]) -> None:
        for end in ends:
            try:
                if not await self._store.finish(end.answer, end.epoch):
                    logger.warning(
                        "%s: the end was stored already, or another server continues the answer", end.answer.run_id
                    )
            except OutageError:
                raise
            except Exception:
                logger.exception("%s: the database rejected the end of the answer", end.answer.run_id)
                if not self._is_given_up(end):
                    continue
            if self._ends.pop(end.answer.id, None) is not None:
                self._on_stored(end.answer)

    def _is_given_up(self, end: _Unstored) -> bool:
        """Count a rejection, and return whether it is the last one."""
        end.rejections += 1
        if end.rejections == MOST_REJECTIONS:
            logger.error("%s: the answer will be stored as failed, without its text", end.answer.run_id)
            end.answer = _without_text(end.answer)
        if end.rejections <= MOST_REJECTIONS:
            return False
        self.given_up.add(end.answer.run_id or "")
        return True

    async def _retry(self) -> None:
        pause, kept = FIRST_PAUSE_SECONDS, len(self._ends)
        while self._ends:
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
            kept = max(kept, len(self._ends))
            with suppress(OutageError):
                rejected = self._of(is_rejected=True)
                await self.store_all()
                await self._store_each(rejected)
        logger.info("no ends of answers are left to store; up to %d were", kept)


def _without_text(answer: Message) -> Message:
    return replace(
        answer,
        content="",
        reasoning=None,
        status="failed",
        finish_reason="error",
        error=error_body(EngineError(REJECTED)),
        usage=None,
        tokens=replace(answer.tokens, ids=b""),
    )
