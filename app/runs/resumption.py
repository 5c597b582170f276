"""Resumption of the runs that a former process, or another server, left unfinished.

The logs of these runs are open at once, so that clients that return can follow from where they were. The engine
continues the runs when it is ready. With the same model each answer continues as it would have: the prompt, the tokens
so far, the seed and all parameters are stored, and the KV comes back from the tiers.

A database that is locked or full at the start only delays this. No run is resumed before the database has recorded
that, and the write is repeated until it succeeds. If several servers find a run, the first one gets it.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from app.domain.sampling_json import params_from_json
from app.domain.token_history import ID_BYTES, unpack_ids
from app.host.backend import Backend, GenerationStream
from app.host.engine_host import EngineHost, kv_identity
from app.runs.place_log import PlaceLog
from app.runs.run import PROGRESS_SECONDS, Run
from app.runs.run_log import RunLog, opening_event
from app.runs.service import RunRegistry
from app.runs.unstored_ends import REFUSALS
from app.storage.run_records import RunRecord, UnfinishedRun
from app.storage.store import Store
from engine.api.errors import EbbError, NotReadyError, OutageError, OverloadedError, ServerError
from engine.api.generate_request import GenerateRequest
from engine.api.urgency import Urgency

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

    def __init__(
        self,
        host: EngineHost,
        store: Store,
        runs: RunRegistry,
        places: PlaceLog,
        *,
        on_resumed: Callable[[Run], None],
    ) -> None:
        """Prepare the resumption; `begin` starts it.

        places: the log of the former process, then of this one.
        on_resumed: called with each run that this server continues.
        """
        self._host = host
        self._store = store
        self._runs = runs
        self._places = places
        self._on_resumed = on_resumed
        self._task: asyncio.Task[None] | None = None
        self._takeovers: set[asyncio.Task[None]] = set()
        self._has_begun = False

    async def begin(self, former: str | None = None, *, claims: bool = True) -> None:
        """Find the unfinished runs, and resume them once there is an engine.

        former: the server that this process replaces; None for the only server of a file.
        claims: False leaves the runs to other servers, whose engines are ready.
        """
        is_closed = True
        try:
            await self._store.runs.close_unfinished()
        except OutageError as error:
            is_closed = False
            logger.error("the database cannot be written; the write will be retried: %s", error)
        found = await self._found(self._places.read(), former) if claims else []
        self._has_begun = True
        if found or not is_closed:
            self._task = asyncio.create_task(self._resume_all(found, is_closed=is_closed), name="resume-runs")
        else:
            self._places.begin()

    async def take_over(self) -> None:
        """Take over the runs that no server works on, and resume them once there is an engine."""
        if not self._has_begun:
            return
        await self._store.runs.close_deleted()
        if not (found := await self._found({})):
            return
        try:
            taken = await self._store.runs.take_over(record for record, _ in found)
        except BaseException:
            await self._kept(found, set())
            raise
        found = await self._kept(found, taken)
        task = asyncio.create_task(self._resume_found(found), name="take-over-runs")
        self._takeovers.add(task)
        task.add_done_callback(self._takeovers.discard)

    async def stop(self) -> None:
        """Stop, and leave the runs that have not been resumed to the next process."""
        tasks = [*self._takeovers] if self._task is None else [self._task, *self._takeovers]
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        engine = self._host.engine
        # An engine that broke hands its runs over too, but one of them may have broken it.
        self._places.close(clean=engine is None or not engine.is_broken)

    async def _found(self, had_place: Mapping[str, int], former: str | None = None) -> list[tuple[RunRecord, Run]]:
        """Open the unfinished runs that this server does not know, each with the record of its resumption.

        had_place: number of tokens of the runs that had a place in the batch when the former process died.
        former: see `begin`.
        """
        found = list[tuple[RunRecord, Run]]()
        for left in filter(self._is_unknown, await self._store.runs.unfinished()):
            run = _opened(left)
            self._runs.add(run)
            # The places of another server are not known. A run that it had resumed before may be the cause.
            is_of_another = left.is_crashed and left.owner != former
            had_tokens = left.record.resumed_with if is_of_another else had_place.get(run.id)
            found.append((_counted(left.record, had_tokens, run), run))
        return found

    def _is_unknown(self, left: UnfinishedRun) -> bool:
        known = self._runs.get(left.record.id, left.tenant)
        return known is None or known.ended.is_set()

    async def _resume_all(self, found: Sequence[tuple[RunRecord, Run]], *, is_closed: bool) -> None:
        found = await self._noted(found, is_closed=is_closed)
        self._places.begin()
        await self._resume_found(found)

    async def _resume_found(self, found: Sequence[tuple[RunRecord, Run]]) -> None:
        await self._host.until_ready()
        if found:
            logger.info("resuming answers that the stop of a server interrupted: %d", len(found))
        for _, run in found:
            self._on_resumed(run)
        # At once, because an engine in other processes answers each request only after a moment.
        await asyncio.gather(*(self._resume_one(record, run) for record, run in found))

    async def _resume_one(self, record: RunRecord, run: Run) -> None:
        try:
            engine = self._host.model_of(run.answer.tokens.model)
            await self._host.prepared(engine)
            await self._resume(engine, record, run)
        except NotReadyError as error:
            # A server that is stopping leaves the run to the next one. A model that cannot be loaded ends it.
            if self._host.state == "ok":
                await self._give_up(run, error.message)
        except Exception:
            logger.exception("%s: could not be resumed", run.id)
            await self._give_up(run, "an unexpected error, which the server's log describes")

    async def _noted(self, found: Sequence[tuple[RunRecord, Run]], *, is_closed: bool) -> list[tuple[RunRecord, Run]]:
        """Record that these runs are resumed, as soon as the database accepts the write. Returns those that are."""
        pause = FIRST_PAUSE_SECONDS
        while True:
            try:
                if not is_closed:
                    await self._store.runs.close_unfinished()
                taken = await self._store.runs.take_over(record for record, _ in found)
                break
            except REFUSALS as error:
                logger.error("%d answers cannot be resumed until the database takes writes: %s", len(found), error)
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
        return await self._kept(found, taken)

    async def _kept(self, found: Sequence[tuple[RunRecord, Run]], taken: set[str]) -> list[tuple[RunRecord, Run]]:
        """Own the runs among those `taken`, and end those that a client has cancelled. Drop the others.

        The others have ended, or another server got them first.
        """
        for record, run in found:
            if run.id not in taken:
                self._runs.mark_lost(run)
                continue
            run.is_owned = True
            if run.cancelled or record.is_cancelled:
                await self._runs.close(run, "cancelled", "abort")
        return [each for each in found if each[1].id in taken]

    async def _resume(self, engine: Backend, record: RunRecord, run: Run) -> None:
        if run.cancelled and not run.ended.is_set():
            await self._runs.close(run, "cancelled", "abort")
        if not run.ended.is_set() and (reason := _why_not(engine, record, run)) is not None:
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
            prompt_token_ids=prompt_ids,
            params=params,
            request_id=run.id,
            tenant=run.tenant,
            adapter=_adapter_of(run),
            urgency=Urgency(record.priority, timeout),
            # A copy: the run's own list grows while the engine reads the request.
            produced=tuple(run.token_ids),
            on_place=partial(self._places.note, run.id, len(run.token_ids)),
            progress_every=PROGRESS_SECONDS,
        )
        stream = await _admitted(engine, request, run)
        if stream is not None:
            self._runs.drive(run, stream, lambda: engine.abort(stream.request_id))


async def _admitted(engine: Backend, request: GenerateRequest, run: Run) -> GenerationStream | None:
    """Have the engine admit a run. Return None, with nothing left in the engine, if the run ends first.

    The run may be cancelled, deleted or lost while it waits. The KV of a deleted chat is erased right afterwards, so
    the engine must have dropped the request by then.
    """

    async def watch() -> None:
        await run.ended.wait()
        admission.reschedule(asyncio.get_running_loop().time())

    try:
        async with asyncio.timeout(None) as admission:
            watching = asyncio.create_task(watch(), name=f"admission-{run.id}")
            try:
                [stream] = await engine.generate(request)
            finally:
                watching.cancel()
    except TimeoutError:
        return None
    if run.ended.is_set():
        engine.abort(stream.request_id)
        return None
    return stream


def _opened(left: UnfinishedRun) -> Run:
    """Return the run with its log, at the epoch that begins when this server takes it over."""
    answer, record, epoch = left.answer, left.record, left.record.epoch + 1
    log = RunLog(
        record.id, answer, opening_event(left.conversation, left.question, answer), epoch=epoch, deltas=left.deltas
    )
    run = Run(
        id=record.id,
        tenant=left.tenant,
        answer=answer,
        log=log,
        kv_fingerprint=record.kv_fingerprint,
        saved_ids=len(left.token_ids) // ID_BYTES,
        saved_deltas=len(left.deltas),
        epoch=epoch,
        is_owned=False,
    )
    run.token_ids.extend(unpack_ids(left.token_ids))
    return run


def _counted(record: RunRecord, had_tokens: int | None, run: Run) -> RunRecord:
    """Return the record to store for a run that is resumed now.

    had_tokens: number of tokens that the run had when the former process, which died, gave it a place in the batch;
    None if that process gave it none, or handed it over.
    """
    is_fruitless = had_tokens is not None and len(run.token_ids) <= had_tokens
    return replace(
        record,
        epoch=record.epoch + 1,
        fruitless=record.fruitless + is_fruitless,
        resumed_with=len(run.token_ids),
    )


def _adapter_of(run: Run) -> str:
    adapter: str = (run.answer.params or {}).get("adapter", "")
    return adapter


def _why_not(engine: Backend, record: RunRecord, run: Run) -> str | None:
    if record.kv_fingerprint != kv_identity(engine, _adapter_of(run)):
        return "the model or its adapter, or the way it is computed, has changed"
    if record.fruitless >= MAX_FRUITLESS:
        return f"the server died {MAX_FRUITLESS} times in a row before this answer produced a token"
    if record.deadline is not None and record.deadline <= time.time():
        return "its timeout passed before the server was ready again"
    return None
