"""The loop's body: schedule, execute, update. Knows no text and no sockets."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from cache_tiers.block_key import BlockKey
from cache_tiers.histogram import Histogram
from engine.errors import FOR_THE_PROCESS, EbbError
from engine.executor.step_limit import StepLimit
from engine.executor.workers import WorkersLostError, WorkersState
from engine.outputs import FinishReason
from engine.pace import StepPace, time_to_prepare
from engine.request import Request
from engine.scheduling.output import ModelRunnerOutput, SchedulerOutput
from engine.scheduling.scheduler import Scheduler, TokenUpdate
from engine.step_trace import trace_step
from engine.tracing import NO_TRACE, Trace, Track

SETTLING_STEP: Final = -1
"""The id of a step that no scheduler made."""

T = TypeVar("T")
U = TypeVar("U")


class Executor(Protocol):
    """The side that runs the model, in this process or in others."""

    def execute(self, output: SchedulerOutput) -> Future[ModelRunnerOutput]:
        """Steps run in the order of their calls."""

    def restart(self) -> None:
        """After a WorkersLostError. Raises EngineError if there is no use in it."""

    @property
    def is_hung(self) -> bool:
        """Whether a thread of this process hangs in a step, and cannot be stopped."""

    @property
    def step_limit(self) -> StepLimit | None:
        """How long steps may take; None if the executor itself ends those that hang."""

    @property
    def state(self) -> WorkersState | None:
        """None if the worker is in this process, and is lost with it."""

    def close(self) -> None:
        """End what it started."""


class SchedulerInDoubtError(Exception):
    """The scheduler raised where it never should. Its state is in doubt: `EngineCore.rebuild` replaces it."""


class StepFailedError(Exception):
    """A step raised: `requests` ended with it."""

    def __init__(self, requests: list[Request]) -> None:
        super().__init__(f"a step failed with {len(requests)} requests in it")
        self.requests = requests


class StepBehindFailureError(Exception):
    """A step failed that had been begun behind one that failed: nothing is known against its requests."""


@dataclass(frozen=True, slots=True)
class InFlight:
    """A step that was started. follows_at_once: requests ran when it was scheduled, so a gap before it counts."""

    output: SchedulerOutput
    future: Future[ModelRunnerOutput]
    follows_at_once: bool


class EngineCore:
    """One scheduler, one executor: `begin_step`, then `finish_step` with its result, in the same order.

    Any exception of the scheduler that it does not raise on purpose leaves its state in doubt: `doubt` has the
    exception, and every call raises SchedulerInDoubtError until `rebuild` has put a new scheduler in its place.

    on_doubt: called when that happens. in_flight: steps that were begun and not finished, in their order.
    """

    def __init__(
        self, make_scheduler: Callable[[Scheduler | None], Scheduler], executor: Executor, trace: Trace = NO_TRACE
    ) -> None:
        """make_scheduler: receives the scheduler in doubt, or None the first time."""
        self._make_scheduler = make_scheduler
        self.scheduler = make_scheduler(None)
        self.executor = executor
        self.trace = trace
        self.doubt: BaseException | None = None
        self.on_doubt: Callable[[], None] = lambda: None
        self.in_flight: Final[deque[InFlight]] = deque()
        self.step_seconds = Histogram.of_seconds()
        self.gap_seconds = Histogram.of_seconds()
        self.batch_sizes = Histogram.of_counts()
        self.pace = StepPace()
        self._busy = False
        self._last_ended = 0.0
        self._recovered: WorkersLostError | None = None
        self._behind_failure = 0
        self._in_worker: set[str] = set()
        self._to_erase: list[BlockKey] = []

    @contextmanager
    def _sound(self) -> Iterator[None]:
        """Guard calls of the scheduler."""
        if self.doubt is not None:
            raise SchedulerInDoubtError from self.doubt
        try:
            yield
        except (EbbError, StepFailedError, *FOR_THE_PROCESS):
            raise
        except BaseException as error:
            self.doubt = error
            self.on_doubt()
            raise SchedulerInDoubtError from error

    def ask(self, call: Callable[[Scheduler], T], otherwise: U) -> T | U:
        """Call the scheduler for what no request depends on; `otherwise` is the answer while it is in doubt."""
        try:
            with self._sound():
                return call(self.scheduler)
        except SchedulerInDoubtError:
            return otherwise

    def add_request(self, request: Request) -> None:
        """Queue a request. Raises OverloadedError, SchedulerInDoubtError."""
        with self._sound():
            self.scheduler.add_request(request)

    def finish_request(self, request_id: str, reason: FinishReason) -> None:
        """End a request now; its blocks are free by the next step. Raises SchedulerInDoubtError."""
        with self._sound():
            self.scheduler.finish_request(request_id, reason)

    def erase(self, keys: Sequence[BlockKey]) -> None:
        """Forget these blocks in all tiers, if need be in the next scheduler."""
        self._to_erase += keys
        try:
            with self._sound():
                self.scheduler.erase(keys)
                self._to_erase.clear()
        except SchedulerInDoubtError:
            return

    def begin_step(self) -> InFlight | None:
        """Schedule and start a step; None if there is nothing to do now. Raises SchedulerInDoubtError.

        May be called while a step is in flight: its results are counted on.
        """
        with self._sound():
            with self.trace.span(Track.SCHEDULER, "schedule"):
                output = self.scheduler.schedule()
            if output is None:
                return None
            self._in_worker.difference_update(output.dropped_request_ids)
            self._in_worker.update(new.request_id for new in output.new_requests)
            step = InFlight(output, self.executor.execute(output), follows_at_once=self._busy)
            self.in_flight.append(step)
            return step

    def finish_step(self, step: InFlight) -> list[TokenUpdate]:
        """Take the result of the oldest step in flight. A step whose workers were lost has no result: it is computed
        again.

        Raises StepFailedError, after which the engine continues; SchedulerInDoubtError; and EngineError if the workers
        are lost for good.
        """
        oldest = self.in_flight.popleft()
        assert oldest is step
        was_behind_failure, self._behind_failure = self._behind_failure > 0, max(0, self._behind_failure - 1)
        try:
            result = step.future.result()
        except FOR_THE_PROCESS:
            raise
        except WorkersLostError as lost:
            self._recover(step.output, lost)
            return []
        except BaseException as error:
            self._busy = False
            self._behind_failure = len(self.in_flight)
            with self._sound():
                if was_behind_failure:
                    raise StepBehindFailureError from error
                raise StepFailedError(self.scheduler.fail_step(step.output)) from error
        self._observe(step, result)
        with self._sound(), self.trace.span(Track.SCHEDULER, "update"):
            updates = self.scheduler.update(step.output, result)
        self._busy = self.scheduler.num_running > 0
        return updates

    def _observe(self, step: InFlight, result: ModelRunnerOutput) -> None:
        self.trace.add(Track.LOOP, "wake-up", result.sent, time.perf_counter())
        trace_step(self.trace, step.output, result)
        if step.output.total_tokens:
            if step.follows_at_once:
                self.gap_seconds.observe(max(0.0, result.started - self._last_ended))
            self.step_seconds.observe(result.seconds / step.output.passes)
            self.batch_sizes.observe(len(step.output.num_scheduled_tokens))
            self.pace.note(step.output, result.seconds)
            self._last_ended = result.ended

    def _recover(self, step: SchedulerOutput, lost: WorkersLostError) -> None:
        self._busy = False
        # Of two steps that were lost together the second must not undo what was begun after the first.
        is_first = lost is not self._recovered
        self._restart_workers(lost)
        with self._sound():
            self.scheduler.lose_step(step)
            if is_first:
                self.scheduler.lose_device()

    def _restart_workers(self, lost: WorkersLostError) -> None:
        if lost is not self._recovered:
            self._recovered = lost
            self.executor.restart()

    def condemn(self, error: BaseException) -> None:
        """Put the scheduler in doubt, because of a defect in the code around it."""
        self.doubt = self.doubt or error

    def settle_copies(self) -> None:
        """Put a step in flight that ends when no copy is under way, whatever the scheduler in doubt knew of them."""
        output = SchedulerOutput(SETTLING_STEP)
        self.in_flight.append(InFlight(output, self.executor.execute(output), follows_at_once=False))

    def rebuild(self, requests: Iterable[Request]) -> None:
        """Replace the scheduler in doubt by a new one that has `requests`, which must not be known to the old one.

        Nothing of the old scheduler's state is used. Every step in flight must have ended, and the last must be the one
        of `settle_copies`: the new scheduler gives the host slots and the device blocks of copies to others. Results of
        the steps are dropped.
        Raises EngineError if the workers are lost for good, and what making a scheduler raises.
        """
        assert self.in_flight, "copies may be under way"
        assert self.in_flight[-1].output.step_id == SETTLING_STEP, "copies may be under way"
        for step in self.in_flight:
            if isinstance(lost := step.future.exception(), WorkersLostError):
                self._restart_workers(lost)
        self.in_flight.clear()
        self._behind_failure, self._busy = 0, False
        scheduler = self._make_scheduler(self.scheduler)
        scheduler.drop_from_worker(self._in_worker)
        scheduler.erase(self._to_erase)
        for request in requests:
            scheduler.readmit(request)
        self._to_erase.clear()
        self.scheduler, self.doubt = scheduler, None

    def seconds_to_step_limit(self) -> float | None:
        """How long the oldest step in flight may still take before it counts as hung; None if the executor sees to
        that itself."""
        limit = self.executor.step_limit
        return max(0.0, limit.passes_at() - time.monotonic()) if limit is not None else None

    def hang_in_words(self) -> str:
        """Say that the oldest step hangs, and by which limit."""
        limit = self.executor.step_limit
        assert limit is not None
        return f"a step did not end within {limit.seconds:g} s, and a thread of this process cannot be stopped"

    def time_to_prepare(self, step: InFlight) -> float | None:
        """How long to wait before the step behind `step` is begun; None: until it has ended, because its tokens are
        needed for that, or nothing is known yet.

        `step` has just been started, or the one before it has just ended.
        """
        if step.output.is_awaited:
            return None
        expected = self.pace.expected_seconds(step.output)
        if expected is None:
            expected = self.ask(lambda scheduler: scheduler.step_time.cost.expected_seconds(step.output), None)
        return time_to_prepare(expected) if expected else None

    @property
    def is_quiet(self) -> bool:
        """Whether no copy, load, refused store or erasure is under way."""
        return self.ask(_is_quiet, otherwise=False)

    def next_poll_seconds(self) -> float | None:
        """How soon to try a step again when `begin_step` had nothing; None: not before something is added."""
        return self.ask(_next_poll_seconds, otherwise=0.0)


def _is_quiet(scheduler: Scheduler) -> bool:
    tiering = scheduler.tiering
    return tiering is None or (tiering.is_quiet and not (tiering.tiers.has_copies or tiering.tiers.is_erasing))


def _next_poll_seconds(scheduler: Scheduler) -> float | None:
    return scheduler.tiering.tiers.next_poll_seconds() if scheduler.tiering is not None else None
