"""The end of a run: its stored form, its error, and a run that is rebuilt from its stored answer."""

from collections.abc import Mapping
from typing import Any

from app.domain.failures import failure_of
from app.domain.records import Message, MessageStatus
from app.domain.token_history import ID_BYTES, pack_ids
from app.http.error_formats import error_body
from app.runs.run import Run
from app.runs.run_log import RunLog
from app.runs.usage import message_usage
from app.schemas.response_bodies.run_events import OpeningRecords
from app.storage.run_records import MessageEnd
from engine.api.outputs import RequestOutput


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
    """Return what is stored of a run whose last output is `last`."""
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
