"""Resumption of the runs that a former process left unfinished.

The logs of these runs are open at once, so that clients that return can follow from where they were. The engine
continues the runs when it is ready. With the same model each answer continues as it would have: the prompt, the tokens
so far, the seed and all parameters are stored, and the KV comes back from the tiers.

A database that is locked or full at the start only delays this. No run is resumed before the database has recorded
that, and the write is repeated until it succeeds.
"""

import asyncio
import logging
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from app.domain.sampling_json import params_from_json
from app.domain.token_history import ID_BYTES, unpack_ids
from app.host.backend import Backend
from app.host.engine_host import EngineHost
from app.runs.place_log import PlaceLog
from app.runs.run_log import RunLog, opening_event
from app.runs.service import Run, RunRegistry
from app.runs.unstored_ends import REFUSALS
from app.storage.runs import RunRecord, UnfinishedRun
from app.storage.store import Store
from engine.errors import EbbError, NotReadyError, OutageError, OverloadedError, ServerError
from engine.generate_request import GenerateRequest
from engine.urgency import Urgency

MAX_FRUITLESS = 2
"""Number of consecutive deaths of the server after which a run is given up that had a place and gained no token: it may
be the cause."""

FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 15.0

logger = logging.getLogger(__name__)


class NotResumedError(ServerError):
    """A run of a former process cannot be continued. The answer keeps its text, and a person may continue it."""

    code = "not_resumed"

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"The server stopped while it generated this answer, and did not resume it: {reason}. Continue the "
            "answer, or ask again"
        )


class Resumption:
    """Owner of the runs that were found at the start, until the engine has them."""

    def __init__(self, host: EngineHost, store: Store, runs: RunRegistry, places: PlaceLog) -> None:
        """Prepare the resumption; `begin` starts it. places: the log of the former process, then of this one."""
        self._host = host
        self._store = store
        self._runs = runs
        self._places = places
        self._task: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        """Find the unfinished runs, and resume them once there is an engine."""
        is_closed = True
        try:
            await self._store.runs.close_unfinished()
        except OutageError as error:
            is_closed = False
            logger.error("the database cannot be written; the write will be retried: %s", error)
        had_place = self._places.read()
        found = []
        for left in await self._store.runs.unfinished():
            run = await self._opened(left)
            self._runs.add(run)
            found.append((_counted(left.record, had_place.get(run.id), run), run))
        if found or not is_closed:
            self._task = asyncio.create_task(self._resume_all(found, is_closed=is_closed), name="resume-runs")
        else:
            self._places.begin()

    async def stop(self) -> None:
        """Stop, and leave the runs that have not been resumed to the next process."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        engine = self._host.engine
        # An engine that broke hands its runs over too, but one of them may have broken it.
        self._places.close(clean=engine is None or not engine.is_broken)

    async def _opened(self, left: UnfinishedRun) -> Run:
        answer, record = left.answer, left.record
        store = self._store.of(left.tenant)
        conversation = await store.conversations.get(answer.conversation_id)
        assert answer.parent_id is not None
        question = await store.messages.get(answer.parent_id)
        opening = opening_event(conversation, question, answer)
        log = RunLog(record.id, answer, opening, epoch=record.epoch + 1, deltas=left.deltas)
        saved_ids = len(left.token_ids) // ID_BYTES
        run = Run(record.id, left.tenant, answer, log, saved_ids=saved_ids, saved_deltas=len(left.deltas))
        run.token_ids.extend(unpack_ids(left.token_ids))
        return run

    async def _resume_all(self, found: Sequence[tuple[RunRecord, Run]], *, is_closed: bool) -> None:
        await self._noted([record for record, _ in found], is_closed=is_closed)
        self._places.begin()
        engine = await self._host.until_ready()
        if found:
            logger.info("resuming %d answers that the last stop of the server interrupted", len(found))
        for record, run in found:
            try:
                await self._resume(engine, record, run)
            except Exception:
                logger.exception("%s: could not be resumed", run.id)
                await self._give_up(run, "an unexpected error, which the server's log describes")

    async def _noted(self, records: Sequence[RunRecord], *, is_closed: bool) -> None:
        """Record that these runs are resumed, as soon as the database accepts the write."""
        pause = FIRST_PAUSE_SECONDS
        while True:
            try:
                if not is_closed:
                    await self._store.runs.close_unfinished()
                await self._store.runs.mark_resumed(records)
                return
            except REFUSALS as error:
                logger.error("%d answers cannot be resumed until the database takes writes: %s", len(records), error)
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    async def _resume(self, engine: Backend, record: RunRecord, run: Run) -> None:
        if not run.ended.is_set() and (reason := _why_not(engine, record)) is not None:
            await self._give_up(run, reason)
        while not run.ended.is_set():
            try:
                await self._start(engine, record, run)
                return
            except NotReadyError:
                # The server is already stopping: the next one resumes it.
                return
            except OverloadedError as error:
                await asyncio.sleep(error.retry_after)
            except EbbError as error:
                await self._give_up(run, error.message)

    async def _give_up(self, run: Run, reason: str) -> None:
        logger.warning("%s: not resumed: %s", run.id, reason)
        await self._runs.close(run, "incomplete", None, NotResumedError(reason))

    async def _start(self, engine: Backend, record: RunRecord, run: Run) -> None:
        timeout = record.deadline - time.time() if record.deadline is not None else None
        assert run.answer.params is not None
        params, prompt_ids = params_from_json(run.answer.params), unpack_ids(record.prompt_ids)
        request = GenerateRequest(
            prompt_ids,
            params,
            run.id,
            run.tenant,
            Urgency(record.priority, timeout),
            # A copy: the run's own list grows while the engine reads the request.
            tuple(run.token_ids),
            on_place=partial(self._places.note, run.id, len(run.token_ids)),
        )
        [stream] = await engine.generate(request)
        self._runs.drive(run, stream, lambda: engine.abort(stream.request_id))


def _counted(record: RunRecord, had_tokens: int | None, run: Run) -> RunRecord:
    """Return the record to store for a run that is resumed now.

    had_tokens: number of tokens that the run had when the former process, which died, gave it a place in the batch;
    None if that process gave it none, or handed it over.
    """
    is_fruitless = had_tokens is not None and len(run.token_ids) <= had_tokens
    return replace(record, epoch=record.epoch + 1, fruitless=record.fruitless + is_fruitless)


def _why_not(engine: Backend, record: RunRecord) -> str | None:
    if record.kv_fingerprint != engine.kv_fingerprint:
        return "the model, or the way it is computed, has changed"
    if record.fruitless >= MAX_FRUITLESS:
        return f"the server died {MAX_FRUITLESS} times in a row before this answer produced a token"
    if record.deadline is not None and record.deadline <= time.time():
        return "its timeout passed before the server was ready again"
    return None
