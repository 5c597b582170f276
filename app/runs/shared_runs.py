"""Stored runs that this server does not work on, followed and cancelled from here.

Most are runs of other servers on the same database. A few are this server's own: their turn was stored although its
request had failed, and `app.runs.lease` has not found them yet.

A server announces the runs whose output, owner or end it has just stored. A copy of such a run then reads what is new,
at most a moment after the output was computed. The deltas have the numbers and the epoch that the owner gives them, so
a client may continue at either server. Notices may get lost, so a copy also looks every POLL_SECONDS.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Set
from contextlib import suppress
from typing import Final

from app.domain.records import Message
from app.domain.token_history import ID_BYTES, unpack_ids
from app.runs.pending_cancel import time_to_cancel
from app.runs.run import Run, error_of
from app.runs.run_log import RunLog, opening_event
from app.runs.shared_progress import READING, reports_in
from app.runs.unstored_ends import REFUSALS
from app.storage.notices import NoticeHandlers
from app.storage.run_records import RunNews, UnfinishedRun
from app.storage.runs import CANCEL, PROGRESS
from app.storage.store import Store
from engine.api.errors import NotFoundError

POLL_SECONDS: Final = 1.0

logger = logging.getLogger(__name__)


class SharedRuns:
    """Owner of the copies of these runs, and of their tasks."""

    def __init__(self, store: Store, stop: Callable[[str], None], settled: Callable[[], Awaitable[object]]) -> None:
        """Make an empty collection.

        stop: ends a run of this server by its id, if it is here.
        settled: waits while this server takes over the runs of another one that has just stopped.
        """
        self._store = store
        self._stop = stop
        self._settled = settled
        self._copies: dict[str, _Copy] = {}

    async def tail(self, run_id: str, tenant: str) -> Run | None:
        """Return a copy of a tenant's run, whose log grows as the server that works on it stores its output.

        The copy ends with the run. The log is interrupted if another server takes the run over. Returns None if the run
        has ended.
        """
        if (known := self._live_copy(run_id)) is not None and known.tenant == tenant:
            return known
        store = self._store.of(tenant)
        left = await store.runs.find(run_id)
        if left is None:
            return None
        if (other := self._live_copy(run_id)) is not None:
            # Another client was faster.
            return other
        copy = self._copies[run_id] = _Copy(store, _copied(left))
        copy.begin(lambda: self._drop(copy))
        return copy.run

    async def settled(self) -> None:
        """Wait while this server takes over the runs of another one that has just stopped."""
        await self._settled()

    async def cancel(self, run_id: str, tenant: str) -> None:
        """Have the server that works on a tenant's run end it, and wait until it has ended.

        Raise CancelPendingError if that takes long.
        """
        await self._store.of(tenant).runs.ask_to_cancel([run_id])
        async with time_to_cancel():
            while (run := await self.tail(run_id, tenant)) is not None:
                await run.ended.wait()

    async def cancel_in(self, conversation_ids: Set[str], tenant: str) -> None:
        """Have other servers end the runs in a tenant's conversations, without waiting for their end."""
        runs = self._store.of(tenant).runs
        places = await runs.in_progress()
        await runs.ask_to_cancel([run_id for run_id, place in places.items() if place in conversation_ids])

    async def cancel_all_of(self, tenant: str) -> None:
        """Have other servers end all runs of a tenant, without waiting for their end."""
        runs = self._store.of(tenant).runs
        await runs.ask_to_cancel(list(await runs.in_progress()))

    async def answering(self, tenant: str) -> set[str]:
        """Return the ids of a tenant's conversations in which any server generates an answer."""
        return set((await self._store.of(tenant).runs.in_progress()).values())

    @property
    def notice_handlers(self) -> NoticeHandlers:
        """Handlers of the notices of other servers."""
        return {PROGRESS: self._on_progress, READING: self._on_reading, CANCEL: self._on_cancel}

    def _on_progress(self, text: str) -> None:
        for run_id in json.loads(text):
            if (copy := self._copies.get(run_id)) is not None:
                copy.news.set()

    def _on_reading(self, text: str) -> None:
        for run_id, progress in reports_in(text):
            if (copy := self._copies.get(run_id)) is not None:
                copy.run.log.report(progress)

    def _on_cancel(self, text: str) -> None:
        for run_id in json.loads(text):
            self._stop(run_id)

    def _live_copy(self, run_id: str) -> Run | None:
        copy = self._copies.get(run_id)
        return copy.run if copy is not None and not copy.run.ended.is_set() else None

    def _drop(self, copy: "_Copy") -> None:
        if self._copies.get(copy.run.id) is copy:
            del self._copies[copy.run.id]

    async def stop(self) -> None:
        """End the copies. Their followers get a `farewell` event."""
        for copy in list(self._copies.values()):
            await copy.stop()


class _Copy:
    """A copy of one run, and the task that keeps it up to date."""

    def __init__(self, store: Store, run: Run) -> None:
        self.run = run
        self.news = asyncio.Event()
        self._store = store
        self._task: asyncio.Task[None] | None = None

    def begin(self, on_end: Callable[[], object]) -> None:
        self._task = asyncio.create_task(self._follow(), name=f"tail {self.run.id}")
        self._task.add_done_callback(lambda _: on_end())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _follow(self) -> None:
        try:
            while not self.run.ended.is_set():
                with suppress(TimeoutError):
                    async with asyncio.timeout(POLL_SECONDS):
                        await self.news.wait()
                self.news.clear()
                with suppress(*REFUSALS):
                    await self._catch_up()
        except Exception:
            logger.exception("%s: the copy of another server's run failed", self.run.id)
        finally:
            # Followers of an unfinished copy come again, and get another one.
            if not self.run.log.is_closed:
                self.run.log.interrupt()
            self.run.ended.set()

    async def _catch_up(self) -> None:
        run = self.run
        news = await self._store.runs.news(run.id, len(run.token_ids))
        if news is None:
            await self._end()
        elif news.epoch != run.epoch or not news.is_next:
            run.ended.set()
        else:
            _append(run, news)

    async def _end(self) -> None:
        run = self.run
        try:
            answer = await self._store.messages.of_run(run.id)
        except NotFoundError:
            run.ended.set()
            return
        num_tokens = len(answer.tokens.ids) // ID_BYTES
        if answer.status != "in_progress" and _append_rest(run.log, answer, num_tokens):
            run.answer = answer
            run.log.close(answer, num_tokens, error_of(answer))
        run.ended.set()


def _copied(left: UnfinishedRun) -> Run:
    record, answer = left.record, left.answer
    opening = opening_event(left.conversation, left.question, answer)
    log = RunLog(record.id, answer, opening, epoch=record.epoch, deltas=left.deltas)
    run = Run(id=record.id, tenant=left.tenant, answer=answer, log=log, is_kept=False, epoch=record.epoch)
    run.token_ids.extend(unpack_ids(left.token_ids))
    return run


def _append(run: Run, news: RunNews) -> None:
    run.token_ids.extend(unpack_ids(news.token_ids))
    for delta in news.deltas:
        run.log.append(delta.text, delta.number - 1, is_thought=delta.is_thought)


def _append_rest(log: RunLog, answer: Message, num_tokens: int) -> bool:
    """Append the end of an answer that was stored as a whole. Returns False if the answer does not begin as the log."""
    reasoning, thought = answer.reasoning or "", log.reasoning or ""
    if not (answer.content.startswith(log.text) and reasoning.startswith(thought)):
        return False
    text = answer.content[len(log.text) :]
    if len(reasoning) > len(thought):
        log.append(reasoning[len(thought) :], num_tokens - bool(text), is_thought=True)
    if text:
        log.append(text, num_tokens)
    return True
