"""Runs: one generation each, from its first event to its stored end, whoever listens.

A run is not a connection. Its task reads the engine's stream, appends to the run's log and writes the answer to the
store: what is unfinished once a second (so a crash costs a second of text), the end before its closing event is
announced (so what a client was told is on disk). Runs that have ended stay for those who come late, up to a bound.
"""

import asyncio
import logging
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from app.backend import GenerationStream
from app.conversations import ConversationStore, MessageEnd
from app.error_responses import error_body
from app.failures import failure_of
from app.records import Message, MessageStatus
from app.request_log import log_finished
from app.run_log import RunLog
from app.token_history import pack_ids
from app.usage import message_usage
from engine.errors import EngineError
from engine.outputs import RequestOutput, Reuse

KEEP_SECONDS = 600.0
KEEP_RUNS = 256
SAVE_SECONDS = 1.0

logger = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class Run:
    """`answer` is what the store holds: in progress until `ended` is set, then final. reuse: set at its end."""

    id: str
    answer: Message
    log: RunLog
    stream: GenerationStream
    abort: Callable[[], None]
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: bool = False
    token_ids: "array[int]" = field(default_factory=lambda: array("I"))
    saved_ids: int = 0
    reuse: Reuse | None = None

    @property
    def answer_so_far(self) -> Message:
        """The answer with the text that has come until now."""
        return self.answer if self.ended.is_set() else replace(self.answer, content=self.log.text)


class RunRegistry:
    """Owner of the runs and their tasks."""

    def __init__(
        self,
        store: ConversationStore,
        *,
        keep_seconds: float = KEEP_SECONDS,
        keep_runs: int = KEEP_RUNS,
        save_seconds: float = SAVE_SECONDS,
    ) -> None:
        """keep_*: how long, and how many, runs stay that have ended. save_seconds: between two savings of progress."""
        self._store = store
        self._keep_seconds = keep_seconds
        self._keep_runs = keep_runs
        self._save_seconds = save_seconds
        self._runs: dict[str, Run] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._saver: asyncio.Task[None] | None = None

    @property
    def live(self) -> int:
        """How many runs have not ended."""
        return len(self._tasks)

    def start(
        self, answer: Message, opening: dict[str, Any], stream: GenerationStream, abort: Callable[[], None]
    ) -> Run:
        """Follow `stream` until it ends. `answer` is stored already; its `run_id` names the run."""
        assert answer.run_id is not None
        run = Run(answer.run_id, answer, RunLog(answer.run_id, answer, opening), stream, abort)
        self._runs[run.id] = run
        self._tasks[run.id] = asyncio.create_task(self._drive(run), name=run.id)
        if self._saver is None or self._saver.done():
            self._saver = asyncio.create_task(self._save_progress(), name="save-runs")
        return run

    def get(self, run_id: str | None) -> Run | None:
        """The run, if it is live or ended not long ago."""
        return self._runs.get(run_id) if run_id is not None else None

    async def cancel(self, run: Run) -> Message:
        """Stop generating, keep what there is; returns the final answer. Does nothing to a run that has ended."""
        if not run.ended.is_set():
            run.cancelled = True
            run.abort()
            await run.ended.wait()
        return run.answer

    async def cancel_all_of(self, conversation_id: str) -> None:
        """Cancel what is live in a conversation."""
        for run in [run for run in self._runs.values() if run.answer.conversation_id == conversation_id]:
            await self.cancel(run)

    def forget_prefixes(self) -> None:
        """Of what other prompts had in common with those of runs that have ended: it may be of a deleted one."""
        for run in self._runs.values():
            run.reuse = None

    async def join(self) -> None:
        """Wait until every run has ended and is stored. The engine ends them, not this."""
        while self._tasks:
            await asyncio.wait(list(self._tasks.values()))
        if self._saver is not None:
            await self._saver

    async def _drive(self, run: Run) -> None:
        last: RequestOutput | None = None
        try:
            async for output in run.stream:
                run.token_ids.extend(output.token_ids)
                if output.text:
                    run.log.append(output.text)
                last = output
        except Exception:
            logger.exception("%s: the engine's stream broke", run.id)
        if last is None or not last.finished:
            last = RequestOutput(run.id, "", (), "error", error="The engine failed")
        run.reuse = last.usage.reuse if last.usage is not None else None
        log_finished(run.id, last)
        try:
            await self._end(run, last)
        finally:
            run.ended.set()
            del self._tasks[run.id]
            self._forget_later(run)

    async def _end(self, run: Run, last: RequestOutput) -> None:
        end = _message_end(run, last)
        try:
            run.answer = await self._store.finish_message(run.answer, end)
        except Exception:
            logger.exception("%s: the answer could not be stored", run.id)
            error = error_body(EngineError("The answer could not be stored", code="storage_failed"))
            run.answer = replace(run.answer, content=end.content, status="failed", error=error)
        if last.finish_reason == "abort" and not run.cancelled:
            run.log.interrupt()
        else:
            run.log.close(*closing_event(run.answer))

    async def _save_progress(self) -> None:
        while self._tasks:
            await asyncio.wait(list(self._tasks.values()), timeout=self._save_seconds)
            behind = [
                run for run in self._runs.values() if not run.ended.is_set() and len(run.token_ids) > run.saved_ids
            ]
            try:
                await self._store.save_progress(
                    [(run.answer.id, run.log.text, pack_ids(run.token_ids)) for run in behind]
                )
            except Exception:
                logger.exception("the progress of %d runs could not be stored", len(behind))
                continue
            for run in behind:
                run.saved_ids = len(run.token_ids)

    def _forget_later(self, run: Run) -> None:
        asyncio.get_running_loop().call_later(self._keep_seconds, self._runs.pop, run.id, None)
        ended = [run_id for run_id, kept in self._runs.items() if kept.ended.is_set()]
        for run_id in ended[: max(0, len(ended) - self._keep_runs)]:
            del self._runs[run_id]


def closing_event(answer: Message) -> tuple[str, dict[str, Any]]:
    """The last event of a run that ended as `answer`."""
    if answer.status == "failed":
        return "error", {"error": answer.error, "message": answer.to_json()}
    return "done", {"message": answer.to_json()}


def log_of(answer: Message) -> RunLog:
    """The log of a run that ended long ago, made again from its answer: everything in one delta."""
    assert answer.run_id is not None
    log = RunLog(answer.run_id, answer, {"message": answer.to_json()})
    log.append(answer.content)
    log.close(*closing_event(answer))
    return log


def _message_end(run: Run, last: RequestOutput) -> MessageEnd:
    # A run that the server's stop interrupts has not failed: it is told to come back.
    failure = failure_of(last) if last.finish_reason != "abort" else None
    return MessageEnd(
        content=run.log.text,
        status="failed" if failure is not None else _status(run, last),
        finish_reason=last.finish_reason,
        token_ids=pack_ids(run.token_ids),
        usage=message_usage(last.usage) if last.usage is not None else None,
        error=error_body(failure) if failure is not None else None,
    )


def _status(run: Run, last: RequestOutput) -> MessageStatus:
    match last.finish_reason:
        case "stop":
            return "complete"
        case "abort" if run.cancelled:
            return "cancelled"
        case _:
            return "incomplete"
