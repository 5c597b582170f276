"""One step's part of a trace, put together from what the worker reported about it."""

from collections.abc import Sequence

from cache_tiers.transfer import TransferResult
from engine.scheduling.output import ModelRunnerOutput, SchedulerOutput
from engine.tracing import Trace, Track

STEP = "step"
FORWARD = "forward"


def trace_step(trace: Trace, step: SchedulerOutput, result: ModelRunnerOutput) -> None:
    """The step on the model thread, the forward pass and what lies around it, and its copies one by one.

    Of a copy the worker says only how long it took; they run one after the other, loads before the pass, stores behind.
    """
    requests, tokens = len(step.num_scheduled_tokens), step.total_tokens
    trace.add(Track.MODEL, STEP, result.received, result.sent, id=step.step_id, requests=requests, tokens=tokens)
    loads, stores = result.transfers[: len(step.loads)], result.transfers[len(step.loads) :]
    after_loads = _trace_copies(trace, "load", loads, result.received)
    if tokens:
        trace.add(Track.MODEL, "prepare", result.received, result.started)
        trace.add(Track.MODEL, FORWARD, result.started, result.ended, requests=requests, tokens=tokens)
        trace.add(Track.MODEL, "finish", result.ended, result.sent)
    _trace_copies(trace, "store", stores, result.ended if tokens else after_loads)


def _trace_copies(trace: Trace, name: str, copies: Sequence[TransferResult], at: float) -> float:
    """Returns when the last one ended."""
    for copy in copies:
        facts = {} if copy.error is None else {"error": copy.error}
        trace.add(Track.COPIES, name, at, at + copy.seconds, **facts)
        at += copy.seconds
    return at
