"""Runs that a former process left unfinished go on in this one.

Their logs are open at once, so that clients that come back are followed on from where they were; the engine goes on
with them when it is ready. Given the same model it says what it would have said: the prompt, the tokens so far, the
seed and all parameters are stored, and the KV comes back from the tiers.
"""

import asyncio
import logging
import time
from contextlib import suppress

from app.backend import Backend
from app.engine_host import EngineHost
from app.run_log import RunLog, opening_event
from app.runs import Run, RunRegistry
from app.sampling_json import params_from_json
from app.storage.runs import RunRecord, UnfinishedRun
from app.storage.store import Store
from app.token_history import ID_BYTES, unpack_ids
from engine.errors import EbbError, NotReadyError, OverloadedError
from engine.urgency import Urgency

MOST_FRUITLESS = 2
"""Resumptions in a row without a token, after which a run is given up: it may be what kills the server."""

logger = logging.getLogger(__name__)


class Resumption:
    """Owner of what was found at the start."""

    def __init__(self, host: EngineHost, store: Store, runs: RunRegistry) -> None:
        self._host = host
        self._store = store
        self._runs = runs
        self._task: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        """Find what was left, and go on with it once there is an engine."""
        await self._store.runs.close_unfinished()
        found = [(left.record, await self._opened(left)) for left in await self._store.runs.unfinished()]
        for _, run in found:
            self._runs.add(run)
        if found:
            self._task = asyncio.create_task(self._go_on(found), name="resume-runs")

    async def stop(self) -> None:
        """Leave what has not begun again to the next process."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

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

    async def _go_on(self, found: list[tuple[RunRecord, Run]]) -> None:
        engine = await self._host.until_ready()
        logger.info("going on with %d answers that the last stop of the server interrupted", len(found))
        for record, run in found:
            try:
                await self._resume(engine, record, run)
            except Exception:
                logger.exception("%s: could not go on", run.id)

    async def _resume(self, engine: Backend, record: RunRecord, run: Run) -> None:
        if (reason := _why_not(engine, record)) is not None:
            logger.warning("%s: not gone on with: %s", run.id, reason)
            await self._runs.close(run, "incomplete", None)
            return
        await self._store.runs.resumed(record)
        while not run.ended.is_set():
            try:
                await self._start(engine, record, run)
                return
            except NotReadyError:
                # The server stops already: the next one goes on with it.
                return
            except OverloadedError as error:
                await asyncio.sleep(error.retry_after)
            except EbbError as error:
                logger.warning("%s: not gone on with: %s", run.id, error.message)
                await self._runs.close(run, "incomplete", None)

    async def _start(self, engine: Backend, record: RunRecord, run: Run) -> None:
        timeout = record.deadline - time.time() if record.deadline is not None else None
        assert run.answer.params is not None
        params = params_from_json(run.answer.params)
        await engine.prepare(params, tenant=run.tenant)
        stream = engine.generate(
            unpack_ids(record.prompt_ids),
            params,
            request_id=run.id,
            tenant=run.tenant,
            urgency=Urgency(record.priority, timeout),
            produced=run.token_ids,
        )
        self._runs.drive(run, stream, lambda: engine.abort(stream.request_id))


def _why_not(engine: Backend, record: RunRecord) -> str | None:
    if record.kv_fingerprint != engine.kv_fingerprint:
        return "the model, or how it is computed, is another one now"
    if record.fruitless >= MOST_FRUITLESS:
        return f"{MOST_FRUITLESS} attempts in a row brought no token"
    if record.deadline is not None and record.deadline <= time.time():
        return "its time was over before the server was ready again"
    return None
