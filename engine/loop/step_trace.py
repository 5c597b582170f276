"""Spans of one step in a trace, reconstructed from the worker's report."""

from collections.abc import Sequence

from cache_tiers.transfer import TransferResult
from engine.request.scheduler_output import ModelRunnerOutput, SchedulerOutput
from engine.tracing import Trace, Track

FORWARD = "forward"


def trace_step(trace: Trace, step: SchedulerOutput, result: ModelRunnerOutput) -> None:
    """Add the forward pass to the model's track, its preparation and results to the worker's, and the step's copies.

    The worker reports only the duration of a copy. Loads are drawn before the pass and stores after it. Copies of
    earlier steps are drawn to end when the result was sent.
    """
    requests, tokens = len(step.num_scheduled_tokens), step.total_tokens
    trace.add(
        Track.WORKER, "prepare", result.received, result.prepared, id=step.step_id, requests=requests, tokens=tokens
    )
    loading, storing = ({job.job_id for job in jobs} for jobs in (step.loads, step.stores))
    loads = [each for each in result.transfers if each.job_id in loading]
    stores = [each for each in result.transfers if each.job_id in storing]
    late = [each for each in result.transfers if each.job_id not in loading | storing]
    loaded = result.started if tokens else result.sent
    _trace_copies(trace, "load", loads, loaded - sum(each.seconds for each in loads))
    if (work := result.draft_work) is not None:
        began = result.started - work.seconds
        trace.add(Track.MODEL, "draft", began, result.started, passes=work.passes, tokens=work.rows)
    if tokens:
        trace.add(Track.MODEL, FORWARD, result.started, result.ended, requests=requests, tokens=tokens)
        trace.add(Track.RESULTS, "finish", result.ended, result.sent)
    _trace_copies(trace, "store", stores, result.ended if tokens else loaded)
    _trace_copies(trace, "late copy", late, result.sent - sum(each.seconds for each in late))


def _trace_copies(trace: Trace, name: str, copies: Sequence[TransferResult], at: float) -> None:
    for copy in copies:
        facts = {} if copy.error is None else {"error": copy.error}
        trace.add(Track.COPIES, name, at, at + copy.seconds, **facts)
        at += copy.seconds
