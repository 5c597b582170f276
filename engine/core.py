"""The loop's body: schedule, execute, update. Knows no text and no sockets."""

import time
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol

from cache_tiers.histogram import Histogram
from engine.executor.workers import WorkersLostError, WorkersState
from engine.outputs import FinishReason
from engine.pace import StepPace, time_to_prepare
from engine.request import Request
from engine.scheduling.output import ModelRunnerOutput, SchedulerOutput
from engine.scheduling.scheduler import Scheduler, TokenUpdate
from engine.step_trace import trace_step
from engine.tracing import NO_TRACE, Trace, Track


class Executor(Protocol):
    """Whoever runs the model: in this process now, elsewhere later."""

    def execute(self, output: SchedulerOutput) -> Future[ModelRunnerOutput]:
        """Steps run in the order of their calls."""

    def restart(self) -> None:
        """After a WorkersLostError. Raises EngineError if there is no use in it."""

    @property
    def state(self) -> WorkersState | None:
        """None if the worker is in this process, and is lost with it."""

    def close(self) -> None:
        """End what it started."""


class StepFailedError(Exception):
    """A step raised: `requests` ended with it."""

    def __init__(self, requests: list[Request]) -> None:
        super().__init__(f"a step failed with {len(requests)} requests in it")
        self.requests = requests


@dataclass(frozen=True, slots=True)
class InFlight:
    """A step that was started. follows_at_once: requests ran when it was scheduled, so a gap before it counts."""

    output: SchedulerOutput
    future: Future[ModelRunnerOutput]
    follows_at_once: bool


class EngineCore:
    """One scheduler, one executor: `begin_step`, then `finish_step` with its result, in the same order."""

    def __init__(self, scheduler: Scheduler, executor: Executor, trace: Trace = NO_TRACE) -> None:
        self.scheduler = scheduler
        self.executor = executor
        self.trace = trace
        self.step_seconds = Histogram.of_seconds()
        self.gap_seconds = Histogram.of_seconds()
        self.batch_sizes = Histogram.of_counts()
        self.pace = StepPace()
        self._busy = False
        self._last_ended = 0.0
        self._recovered: WorkersLostError | None = None

    def add_request(self, request: Request) -> None:
        """Queue it. Raises OverloadedError."""
        self.scheduler.add_request(request)

    def finish_request(self, request_id: str, reason: FinishReason) -> Request | None:
        """End it now; its blocks are free by the next step."""
        return self.scheduler.finish_request(request_id, reason)

    def begin_step(self) -> InFlight | None:
        """Schedule and start a step; None if there is nothing to do now.

        May be called while a step is in flight: what that one will produce is counted on.
        """
        with self.trace.span(Track.SCHEDULER, "schedule"):
            output = self.scheduler.schedule()
        if output is None:
            return None
        return InFlight(output, self.executor.execute(output), follows_at_once=self._busy)

    def finish_step(self, step: InFlight) -> list[TokenUpdate]:
        """Take the result of the oldest step in flight. Raises StepFailedError, after which the engine goes on, and
        EngineError, after which it does not. A step whose workers were lost has no result: it is computed again."""
        try:
            result = step.future.result()
        except WorkersLostError as lost:
            self._recover(step.output, lost)
            return []
        except Exception as error:
            self._busy = False
            raise StepFailedError(self.scheduler.fail_step(step.output)) from error
        self.trace.add(Track.LOOP, "wake-up", result.sent, time.perf_counter())
        trace_step(self.trace, step.output, result)
        if step.output.total_tokens:
            if step.follows_at_once:
                self.gap_seconds.observe(max(0.0, result.started - self._last_ended))
            self.step_seconds.observe(result.seconds / step.output.passes)
            self.batch_sizes.observe(len(step.output.num_scheduled_tokens))
            self.pace.note(step.output, result.seconds)
            self._last_ended = result.ended
        with self.trace.span(Track.SCHEDULER, "update"):
            updates = self.scheduler.update(step.output, result)
        self._busy = self.scheduler.num_running > 0
        return updates

    def _recover(self, step: SchedulerOutput, lost: WorkersLostError) -> None:
        self._busy = False
        self.scheduler.lose_step(step)
        # Of two steps that were lost together the second must not undo what was begun after the first.
        if lost is not self._recovered:
            self._recovered = lost
            self.scheduler.lose_device()
            self.executor.restart()

    def time_to_prepare(self, step: InFlight) -> float | None:
        """How long to wait before the step behind `step` is begun; None: until it has ended, because its tokens are
        needed for that, or nothing is known yet.

        `step` has just been started, or the one before it has just ended.
        """
        if step.output.is_awaited:
            return None
        expected = self.pace.expected_seconds(step.output)
        if expected is None:
            expected = self.scheduler.cost.expected_seconds(step.output)
        return time_to_prepare(expected) if expected else None

    @property
    def is_quiet(self) -> bool:
        """Whether no copy, load, refused store or erasure is under way."""
        tiering = self.scheduler.tiering
        return tiering is None or (tiering.is_quiet and not (tiering.tiers.has_copies or tiering.tiers.is_erasing))

    def next_poll_seconds(self) -> float | None:
        """How soon to try a step again when `begin_step` had nothing; None: not before something is added."""
        tiering = self.scheduler.tiering
        return tiering.tiers.next_poll_seconds() if tiering is not None else None
