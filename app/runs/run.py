"""A run: one generation, its log and its answer."""

import asyncio
from array import array
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from app.domain.failures import failure_of
from app.domain.records import Message, MessageStatus
from app.domain.token_history import ID_BYTES, pack_ids
from app.http.error_formats import error_body
from app.prompts.stateless import Remember
from app.prompts.volatile_lines import UNTREATED, TreatedLines
from app.runs.run_log import RunLog
from app.runs.usage import message_usage
from app.schemas.response_bodies.run_events import OpeningRecords
from app.storage.run_records import MessageEnd, RunProgress
from engine.api.errors import EbbError
from engine.api.outputs import RequestOutput, Reuse, TokenLogprobs

PROGRESS_SECONDS: Final = 0.5
"""Seconds before the first report of a prompt's progress, and between two. Shorter prompts have none."""


@dataclass(slots=True, eq=False, kw_only=True)
class Run:
    """One generation and its answer.

    answer: in progress until `ended` is set, then final, unless a stop of the server interrupted it. The store has
        the same, except for an end that it refused.
    token_ids: ids generated so far.
    abort: aborts the request; None while no engine works on the run.
    saved_ids, saved_deltas: number of ids and of log deltas that are stored.
    reuse: reuse of cached KV; set at the end.
    failure: the reason why there is no answer, or none on disk; None for a cancelled run. Set at the end.
    remember: called with the answer before its end is announced.
    cancelled: whether a client wants the run to end.
    is_kept: False for a run that has no row in the store.
    is_owned: False until the store names this server as the owner.
    kv_fingerprint: that of the engine that began the run.
    lines: volatile lines that were treated in the prompt; unknown for a run that another process began.
    epoch: number of times that another process resumed the run.
    is_lost: whether another server has taken the run over.
    logprobs: those of the ids generated so far, without a token that ended the answer, for the client that started the
        run. None if it does not want them, or has left.
    """

    id: str
    tenant: str
    answer: Message
    log: RunLog
    kv_fingerprint: str = ""
    token_ids: "array[int]" = field(default_factory=lambda: array("I"))
    abort: Callable[[], None] | None = None
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: bool = False
    saved_ids: int = 0
    saved_deltas: int = 0
    reuse: Reuse | None = None
    failure: EbbError | None = None
    remember: Remember | None = None
    is_kept: bool = True
    is_owned: bool = True
    lines: TreatedLines = UNTREATED
    epoch: int = 0
    is_lost: bool = False
    logprobs: list[TokenLogprobs] | None = None

    @property
    def answer_so_far(self) -> Message:
        """The answer with the text generated so far."""
        return (
            self.answer
            if self.ended.is_set()
            else replace(self.answer, content=self.log.text, reasoning=self.log.reasoning)
        )

    def on_output(self, output: RequestOutput) -> None:
        """Append the engine's output to the log."""
        for progress in output.progress:
            self.log.report(progress)
        self.token_ids.extend(output.token_ids)
        if self.logprobs is not None:
            self.logprobs.extend(output.said_logprobs)
        if output.reasoning:
            # Text in the same output took at least one more token.
            self.log.append(output.reasoning, len(self.token_ids) - bool(output.text), is_thought=True)
        if output.text:
            self.log.append(output.text, len(self.token_ids))

    def unsaved(self) -> RunProgress:
        """Return the progress that the store does not have yet."""
        ids = pack_ids(self.token_ids[self.saved_ids :])
        return RunProgress(self.id, self.saved_ids, ids, self.log.deltas_from(self.saved_deltas), self.epoch)


def closing_error(run: Run) -> Mapping[str, Any] | None:
    """Return the error that ends a run's events. An error that kept the answer from the disk counts too."""
    if run.failure is not None and run.answer.status != "failed":
        return error_body(run.failure)
    return error_of(run.answer)


def error_of(answer: Message) -> Mapping[str, Any] | None:
    """Return the error of an answer that failed; None for any other."""
    return answer.error if answer.status == "failed" else None


def ended_run(answer: Message, tenant: str, opening: OpeningRecords | None = None) -> Run:
    """Rebuild a run that ended long ago from its stored answer. The text is one delta."""
    assert answer.run_id is not None
    num_tokens = len(answer.tokens.ids) // ID_BYTES
    log = RunLog(answer.run_id, answer, opening)
    if answer.reasoning:
        log.append(answer.reasoning, num_tokens, is_thought=True)
    if answer.content:
        log.append(answer.content, num_tokens)
    log.close(answer, num_tokens, error_of(answer))
    run = Run(id=answer.run_id, tenant=tenant, answer=answer, log=log)
    run.ended.set()
    return run


def message_end(run: Run, last: RequestOutput) -> MessageEnd:
    """Return the stored end of a run whose last output is `last`."""
    failure = failure_of(last) if last.finish_reason != "abort" else None
    return MessageEnd(
        content=run.log.text,
        status="failed" if failure is not None else _status(run, last),
        finish_reason=last.finish_reason,
        token_ids=pack_ids(run.token_ids),
        usage=message_usage(last.usage, run.kv_fingerprint, run.lines) if last.usage is not None else None,
        error=error_body(failure) if failure is not None else None,
        reasoning=run.log.reasoning,
    )


def _status(run: Run, last: RequestOutput) -> MessageStatus:
    match last.finish_reason:
        case "stop":
            return "complete"
        case "length" if run.answer.is_prompt_alone:
            return "complete"
        case "abort" if run.cancelled:
            return "cancelled"
        case _:
            return "incomplete"
