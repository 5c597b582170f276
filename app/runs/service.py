"""Runs: one generation each, from its first event to its stored end, whether or not a client is connected.

Output of the engine is appended to the run's log in the step that produced it. Every SAVE_SECONDS the new output of all
runs is stored. The end of a run is stored before its closing event is announced, so that clients see no end that is not
on disk. An end that the database refuses is announced as an error, kept in memory, and stored later
(`app.runs.unstored_ends`). A run that a stop of the server interrupts stays unfinished in the store, and
`app.runs.resumption` resumes it after the next start. Ended runs stay in memory for late followers, up to a bound.

Another server may take over the runs of a server that could not renew its lease (`app.runs.lease`). A run that was lost
in this way is dropped here: its followers get a `farewell` event, and find the run at the other server.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from contextvars import Context

from app.domain.failures import failure_of
from app.domain.records import Message, MessageStatus
from app.domain.token_history import ID_BYTES, pack_ids
from app.host.backend import GenerationStream
from app.http.error_formats import error_body
from app.logs.request_log import log_finished
from app.runs.pending_cancel import time_to_cancel
from app.runs.run import Run, closing_error, error_of, message_end
from app.runs.shared_runs import SharedRuns
from app.runs.unstored_ends import UnstoredEnds
from app.storage.run_records import MessageEnd
from app.storage.runs import RunStore
from engine.api.errors import FOR_THE_PROCESS, EbbError, NotReadyError, OutageError
from engine.api.outputs import PromptProgress, RequestOutput

KEEP_SECONDS = 600.0
KEEP_RUNS = 256
SAVE_SECONDS = 0.1

NOT_STORED = (
    "The answer could not be stored yet: the disk is full or the database is locked. The server keeps it in memory and "
    "stores it as soon as it can"
)

REJECTED_FOR_NOW = (
    "The answer could not be stored yet, for a reason that the server's log gives. The server tries again for a few "
    "seconds"
)

logger = logging.getLogger(__name__)


class RunRegistry:
    """Owner of the runs and their tasks."""

    def __init__(
        self,
        store: RunStore,
        shared: SharedRuns,
        *,
        keep_seconds: float = KEEP_SECONDS,
        keep_runs: int = KEEP_RUNS,
        save_seconds: float = SAVE_SECONDS,
        announce: Callable[[str, str, bool], None] = lambda _tenant, _conversation_id, _answered: None,
        share: Callable[[str, PromptProgress], None] = lambda _run_id, _progress: None,
    ) -> None:
        """Make an empty registry.

        shared: the runs that this server does not work on.
        keep_seconds, keep_runs: time for which ended runs are kept, and their maximum number.
        save_seconds: interval at which progress is stored.
        announce: called with the tenant and the conversation when a run begins (False), when it has ended (True), and
            when an end that the database had refused is stored (False).
        share: called with the progress of a stored run's prompt.
        """
        self._store = store
        self._keep_seconds = keep_seconds
        self._keep_runs = keep_runs
        self._save_seconds = save_seconds
        self._announce = announce
        self._share = share
        self._shared = shared
        self._runs: dict[str, Run] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._all_ended = asyncio.Event()
        self._saver: asyncio.Task[None] | None = None
        self._saving = asyncio.Lock()
        self._holds_followers = False
        self._retired: dict[str, float] = {}
        self._expiry: asyncio.TimerHandle | None = None
        self._unstored = UnstoredEnds(store, self._now_stored)

    @property
    def unstored(self) -> int:
        """Number of answers that have ended, but whose end the database has refused so far."""
        return len(self._unstored)

    async def settle(self) -> None:
        """Store the ends that the database refused, before any turn follows them. Raise the database's error."""
        await self._unstored.store_all()

    async def leave(self) -> None:
        """Try once more to store the refused ends. Ends that are refused again are left to the next process."""
        await self._unstored.stop()

    @property
    def live(self) -> int:
        """Number of runs that the engine works on."""
        return len(self._tasks)

    def add(self, run: Run) -> None:
        """Register a run that no engine works on yet. The answer must be stored already."""
        self._runs[run.id] = run

    def drive(self, run: Run, stream: GenerationStream, abort: Callable[[], None]) -> None:
        """Follow `stream` until it ends."""
        run.abort = abort
        last: asyncio.Future[RequestOutput] = asyncio.get_running_loop().create_future()

        def on_output(output: RequestOutput) -> bool:
            try:
                run.on_output(output)
            except FOR_THE_PROCESS:
                raise
            except BaseException:
                # The engine calls this function: a defect here must end only this run.
                logger.exception("%s: the engine's output could not be recorded", run.id)
                if not last.done():
                    last.set_result(
                        RequestOutput(
                            request_id=run.id, text="", token_ids=(), finish_reason="error", error="The engine failed"
                        )
                    )
                    abort()
                return True
            if output.progress and run.is_kept:
                self._share(run.id, output.progress[-1])
            if output.finished and not last.done():
                last.set_result(output)
            return True

        stream.set_listener(on_output)
        if run.cancelled:
            abort()
        self._all_ended.clear()
        self._tasks[run.id] = asyncio.create_task(self._finish(run, last), name=run.id)
        self._announce(run.tenant, run.answer.conversation_id, False)
        if self._saver is None or self._saver.done():
            self._saver = asyncio.create_task(self._save_progress(), name="save-runs")

    def get(self, run_id: str | None, tenant: str) -> Run | None:
        """Return the tenant's run; None if it is unknown, ended too long ago, or another server's."""
        run = self._runs.get(run_id) if run_id is not None else None
        return run if run is not None and run.tenant == tenant else None

    async def find(self, answer: Message, tenant: str) -> Run | None:
        """Return the run of a tenant's stored answer, or a copy of another server's run; None if it ended long ago."""
        run = self.get(answer.run_id, tenant)
        if run is not None or answer.run_id is None or answer.status != "in_progress":
            return run
        await self._shared.settled()
        return self.get(answer.run_id, tenant) or await self._shared.tail(answer.run_id, tenant)

    async def cancel_elsewhere(self, run_id: str, tenant: str) -> None:
        """Cancel a run that another server works on, if there is one, and wait until it has ended."""
        await self._shared.cancel(run_id, tenant)

    def stop_named(self, run_id: str) -> None:
        """Begin to cancel a run that a client of another server wants to end, if it is here."""
        if (run := self._runs.get(run_id)) is not None:
            self.stop(run)

    async def cancel(self, run_id: str, tenant: str) -> None:
        """Stop generating an answer at any server, keep the text so far, and wait for the end.

        A run that has ended is left alone. The end may not be stored yet. Raise CancelPendingError if it takes long.
        """
        if (run := self.get(run_id, tenant)) is None:
            await self.cancel_elsewhere(run_id, tenant)
            return
        await self._begin_to_cancel(run)
        async with time_to_cancel():
            await run.ended.wait()

    async def _begin_to_cancel(self, run: Run) -> None:
        if run.abort is None and run.is_owned and not run.ended.is_set():
            await self.close(run, "cancelled", "abort")
        self.stop(run)

    async def _cancel(self, run: Run) -> None:
        await self._begin_to_cancel(run)
        await run.ended.wait()

    def stop(self, run: Run) -> None:
        """Begin to cancel a run, without waiting for its end."""
        if not run.ended.is_set():
            run.cancelled = True
            if run.abort is not None:
                run.abort()

    def driven(self) -> list[Run]:
        """Return the runs that the engine works on and that the store has."""
        return [run for run in self._runs.values() if run.id in self._tasks and run.is_kept and not run.ended.is_set()]

    def orphans(self, owned: Iterable[str]) -> set[str]:
        """Return those of the runs which the store has as this server's that no one works on here."""
        return {
            run_id
            for run_id in owned
            if run_id not in self._unstored.given_up and ((run := self._runs.get(run_id)) is None or self._is_over(run))
        }

    def _is_over(self, run: Run) -> bool:
        return run.ended.is_set() and run.id not in self._tasks and run.answer not in self._unstored

    async def settle_orphans(self, run_ids: Iterable[str]) -> None:
        """Store the ends that are known here again, and leave the other runs to any server, which resumes them.

        Raise OutageError.
        """
        unknown = list[str]()
        for run_id in run_ids:
            run = self._runs.get(run_id)
            if run is None or run.answer.status == "in_progress":
                unknown.append(run_id)
            elif self._is_over(run):
                logger.warning("%s: the database lost the end of this answer, which is stored again", run_id)
                self._unstored.keep(run.answer, run.epoch)
        if unknown:
            logger.warning("%d answers of this server are unknown here, and are resumed", len(unknown))
            await self._store.release(unknown)

    def mark_lost(self, run: Run) -> None:
        """Stop working on a run that another server has taken over."""
        run.is_lost = True
        if run.abort is not None:
            run.abort()
        else:
            self._leave_to_other(run)
            run.ended.set()

    def forget(self, run: Run) -> None:
        """Drop a run, along with an end of it that is not stored."""
        self._runs.pop(run.id, None)
        self._unstored.drop(run.answer)

    async def cancel_in(self, conversation_ids: Iterable[str], tenant: str) -> None:
        """Cancel the live runs in a tenant's conversations."""
        among = frozenset(conversation_ids)
        for run in self._of(tenant):
            if run.answer.conversation_id in among:
                await self._cancel(run)
        await self._shared.cancel_in(among, tenant)

    async def forget_all_of(self, tenant: str) -> None:
        """Cancel a tenant's live runs and drop all its runs, so that late followers find none."""
        for run in self._of(tenant):
            await self._cancel(run)
            self.forget(run)
        await self._shared.cancel_all_of(tenant)

    async def close(
        self, run: Run, status: MessageStatus, finish_reason: str | None, error: EbbError | None = None
    ) -> None:
        """End a run that no engine works on, with the text it has. `error` is the reason, if it fails."""
        end = MessageEnd(
            content=run.log.text,
            status=status,
            finish_reason=finish_reason,
            token_ids=pack_ids(run.token_ids),
            error=error_body(error) if error is not None else None,
            reasoning=run.log.reasoning,
        )
        if await self._store_end(run, end):
            run.log.close(run.answer, len(run.token_ids), closing_error(run))
        self._has_ended(run)

    async def answering(self, tenant: str) -> set[str]:
        """Return the ids of the conversations in which an answer of a tenant is being generated."""
        here = {
            run.answer.conversation_id for run in self._of(tenant) if run.id in self._tasks and not run.ended.is_set()
        }
        return here | await self._shared.answering(tenant)

    def forget_prefixes(self, tenant: str) -> None:
        """Drop the reuse reports of a tenant's runs: a prefix in them may be from a deleted prompt."""
        for run in self._of(tenant):
            run.reuse = None

    async def join(self) -> None:
        """Wait until the engine has ended all runs and their ends are stored."""
        while self._tasks:
            await asyncio.wait(list(self._tasks.values()))
        if self._saver is not None:
            await self._saver

    async def join_within(self, seconds: float) -> None:
        """Wait until the engine has ended all runs, at most for `seconds`."""
        if self._tasks:
            await asyncio.wait(list(self._tasks.values()), timeout=max(0.0, seconds))

    def hold_followers(self) -> None:
        """Keep the followers of answers that are handed over, from now until `dismiss`."""
        self._holds_followers = True

    async def hand_over(self, runs: Sequence[Run]) -> None:
        """Have other servers continue `runs`, which the engine works on. Raise the database's error.

        Their followers get a `farewell` event once no server owns the runs. Runs whose progress could not be stored
        stay here.
        """
        tasks = [self._tasks[run.id] for run in runs if run.id in self._tasks]
        if not tasks:
            return
        for run in runs:
            if run.abort is not None:
                run.abort()
        await asyncio.wait(tasks)
        left = [run for run in runs if run.answer.status == "in_progress" and run.saved_ids == len(run.token_ids)]
        if not left:
            return
        await self._store.release([run.id for run in left])
        for run in left:
            # A follower that comes again gets a copy of the run from its next owner.
            self._runs.pop(run.id, None)
            run.log.interrupt()

    def interrupt(self) -> None:
        """Send the followers of unfinished answers to the process that continues them."""
        for run in self._runs.values():
            if not run.log.is_closed:
                run.log.interrupt()

    def _of(self, tenant: str) -> list[Run]:
        return [run for run in self._runs.values() if run.tenant == tenant]

    async def _finish(self, run: Run, ending: asyncio.Future[RequestOutput]) -> None:
        last = await ending
        run.reuse = last.usage.reuse if last.usage is not None else None
        run.failure = failure_of(last) if not run.cancelled else None
        log_finished(run.id, last)
        try:
            if run.is_lost:
                self._leave_to_other(run)
            elif last.finish_reason == "abort" and not run.cancelled:
                await self._hand_over(run)
            else:
                await self._end(run, last)
        finally:
            del self._tasks[run.id]
            if not self._tasks:
                self._all_ended.set()
            self._has_ended(run)

    async def _hand_over(self, run: Run) -> None:
        """Store the progress of a run for the server that resumes it, and of all others in the same transaction."""
        await self._save(self._unended())
        if not self._holds_followers:
            run.log.interrupt()

    async def _end(self, run: Run, last: RequestOutput) -> None:
        if not await self._store_end(run, message_end(run, last)):
            return
        if run.remember is not None and run.failure is None:
            await run.remember(run.token_ids, run.log.text, last.cut_before)
        run.log.close(run.answer, len(run.token_ids), closing_error(run))

    async def _store_end(self, run: Run, end: MessageEnd) -> bool:
        """Store the end of a run. Returns False if the run is not this server's any more."""
        run.answer = end.of(run.answer)
        if not run.is_kept:
            return True
        try:
            if not await self._store.finish(run.answer, run.epoch):
                run.is_lost = True
                self._leave_to_other(run)
                return False
        except OutageError as error:
            logger.error(
                "%s: the database refused the end of the answer, which will be stored later: %s", run.id, error
            )
            run.failure = run.failure or NotReadyError(NOT_STORED, code="storage_failed")
            self._unstored.keep(run.answer, run.epoch)
        except Exception:
            logger.exception("%s: the database rejected the end of the answer", run.id)
            run.failure = run.failure or NotReadyError(REJECTED_FOR_NOW, code="storage_failed")
            self._unstored.keep(run.answer, run.epoch, is_rejected=True)
        return True

    def _leave_to_other(self, run: Run) -> None:
        """Send the followers of a lost run to the server that has it now."""
        logger.warning("%s: another server continues this answer, or its conversation was removed", run.id)
        self._runs.pop(run.id, None)
        run.log.interrupt()

    def _now_stored(self, answer: Message) -> None:
        """Announce an end that the database refused at first."""
        run = self._runs.get(answer.run_id or "")
        if run is None or run.answer.id != answer.id:
            return
        if answer.status != "failed":
            run.failure = None
        run.answer = answer
        run.log.close(answer, len(run.token_ids), error_of(answer))
        # Only now is the answer unread in the store.
        self._announce(run.tenant, answer.conversation_id, False)
        self._retire(run)

    async def _save_progress(self) -> None:
        while self._tasks:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._save_seconds):
                    await self._all_ended.wait()
            await self._save(self._unended())

    def _unended(self) -> list[Run]:
        """Return the runs in the store that have not ended."""
        return [run for run in self._runs.values() if run.is_kept and not run.ended.is_set()]

    async def _save(self, runs: list[Run]) -> None:
        async with self._saving:
            try:
                if otherwise := await self._save_unsaved(runs):
                    await self._save_unsaved(otherwise)
            except Exception as error:
                logger.error("the progress of the runs could not be stored; the write will be retried: %s", error)

    async def _save_unsaved(self, runs: list[Run]) -> list[Run]:
        """Store the new output of runs. Returns those of which the store had more, or less, than was known here."""
        behind = [(run, run.unsaved()) for run in runs if len(run.token_ids) > run.saved_ids]
        if not behind:
            return []
        otherwise = await self._store.save_progress([progress for _, progress in behind])
        for run, progress in behind:
            if (stored := otherwise.get(run.id)) is not None:
                logger.warning(
                    "%s: the database has %d tokens of this answer, not %d", run.id, stored.tokens, progress.first_token
                )
                run.saved_ids, run.saved_deltas = stored.tokens, stored.deltas
            else:
                run.saved_ids = progress.first_token + len(progress.token_ids) // ID_BYTES
                run.saved_deltas += len(progress.deltas)
        return [run for run, _ in behind if run.id in otherwise]

    def _has_ended(self, run: Run) -> None:
        run.ended.set()
        if run.is_lost:
            return
        self._announce(run.tenant, run.answer.conversation_id, True)
        # A run that is retired is not found by `dismiss`.
        if run.answer not in self._unstored and not self._holds_followers:
            self._retire(run)

    def _retire(self, run: Run) -> None:
        """Keep a run whose end is stored for late followers, up to the bounds."""
        self._retired[run.id] = asyncio.get_running_loop().time() + self._keep_seconds
        while len(self._retired) > self._keep_runs:
            self._forget_first()
        self._await_expiry()

    def _forget_first(self) -> None:
        run_id = next(iter(self._retired))
        del self._retired[run_id]
        self._runs.pop(run_id, None)

    def _await_expiry(self) -> None:
        """Set a timer for the run that expires next. A timer for each run would outlive the runs, and add up."""
        if self._retired and self._expiry is None:
            first = next(iter(self._retired.values()))
            # A timer holds its context, which is that of the request.
            self._expiry = asyncio.get_running_loop().call_at(first, self._expire, context=Context())

    def _expire(self) -> None:
        self._expiry = None
        now = asyncio.get_running_loop().time()
        while self._retired and next(iter(self._retired.values())) <= now:
            self._forget_first()
        self._await_expiry()
