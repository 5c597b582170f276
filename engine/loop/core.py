"""The body of the engine loop: schedule, execute, update. Text and sockets are handled elsewhere."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeVar

from cache_tiers.histogram import Histogram
from cache_tiers.owners.block_key import BlockKey
from engine.api.errors import FOR_THE_PROCESS, EbbError
from engine.api.outputs import FinishReason
from engine.executor.step_timing import StepLimit, StepTiming, time_to_prepare
from engine.executor.workers import WorkersLostError, WorkersState
from engine.loop.step_trace import trace_step
from engine.request.request import Request
from engine.request.scheduler_output import ModelRunnerOutput, SchedulerOutput
from engine.scheduling.results import TokenUpdate
from engine.scheduling.scheduler import Scheduler
from engine.tracing import NO_TRACE, Trace, Track
from models.adapters.adapter import Adapter

SETTLING_STEP: Final = -1
"""Id of a step that no scheduler made."""

T = TypeVar("T")
U = TypeVar("U")


class Executor(Protocol):
    """Interface to the processes or threads that run the model.

    on_lost: called on any thread when workers have been lost.
    """

    on_lost: Callable[[], None]

    def execute(self, output: SchedulerOutput) -> Future[ModelRunnerOutput]:
        """Start a step. Steps run in the order of these calls."""

    def load_adapter(self, name: str) -> Adapter:
        """Read an adapter while steps run, and have the workers compute it. This blocks, on any thread.

        Raise ModelError, EngineError, or WorkersLostError.
        """

    def drop_adapter(self, digest: str) -> None:
        """Free an adapter once the steps that were executed so far have ended. No later one may use it. This blocks."""

    def restart(self) -> None:
        """Restart the workers after a WorkersLostError. Raise EngineError if they are lost for good."""

    @property
    def lost(self) -> WorkersLostError | None:
        """The loss of the workers, until `restart`; None if they are not lost."""

    @property
    def is_hung(self) -> bool:
        """Whether a thread of this process hangs in a step and cannot be stopped."""

    @property
    def step_limit(self) -> StepLimit | None:
        """Time limit of steps; None if the executor itself ends steps that hang."""

    @property
    def state(self) -> WorkersState | None:
        """State of the workers; None if the worker is in this process and is lost with it."""

    def close(self) -> None:
        """Stop the workers."""


class SchedulerInDoubtError(Exception):
    """The scheduler raised an unexpected exception, so its state is in doubt. `EngineCore.rebuild` replaces it."""


class StepFailedError(Exception):
    """A step failed, and `requests` ended with it."""

    def __init__(self, requests: list[Request]) -> None:
        super().__init__(f"a step failed with {len(requests)} requests in it")
        self.requests = requests


class StepBehindFailureError(Exception):
    """A step failed that was begun after a failed one, so its requests are not to blame."""


@dataclass(slots=True, eq=False)
class InFlight:
    """A step that was started.

    follows_at_once: requests were running when it was scheduled, so a gap before it counts.
    began: estimated time at which the model began with it, on time.monotonic.
    """

    output: SchedulerOutput
    future: Future[ModelRunnerOutput]
    follows_at_once: bool
    began: float = field(default_factory=time.monotonic)


class EngineCore:
    """One scheduler and one executor. Begin steps, and finish them in the same order.

    As many steps are computed at once as the model has pipeline stages. One more waits behind them.

    An exception that the scheduler does not raise on purpose leaves its state in doubt. `doubt` then holds the
    exception, and every call raises SchedulerInDoubtError until `rebuild` has replaced the scheduler.

    on_doubt: called when that happens.
    in_flight: steps that were begun and not finished, in order.
    """

    def __init__(
        self,
        make_scheduler: Callable[[Scheduler | None], Scheduler],
        executor: Executor,
        trace: Trace = NO_TRACE,
        num_stages: int = 1,
        *,
        keeps_blocks: bool = False,
    ) -> None:
        """Create the core.

        make_scheduler: receives the scheduler in doubt, or None the first time.
        num_stages: number of pipeline stages of the model.
        keeps_blocks: whether a lower tier that is off may have blocks of earlier processes.
        """
        self._keeps_blocks = keeps_blocks
        self._num_stages = num_stages
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
        self.step_timing = StepTiming()
        self._busy = False
        self._last_ended = 0.0
        self._recovered: WorkersLostError | None = None
        self._behind_failure = 0
        self._in_worker: set[str] = set()
        self._to_erase: list[BlockKey] = []

    @contextmanager
    def _sound(self) -> Iterator[None]:
        """Guard calls of the scheduler: an unexpected exception puts it in doubt."""
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
        """Call the scheduler for information that no request depends on. Return `otherwise` while it is in doubt."""
        try:
            with self._sound():
                return call(self.scheduler)
        except SchedulerInDoubtError:
            return otherwise

    def add_request(self, request: Request) -> None:
        """Queue a request. Raise OverloadedError or SchedulerInDoubtError."""
        with self._sound():
            self.scheduler.add_request(request)

    def finish_request(self, request_id: str, reason: FinishReason) -> None:
        """End a request now; its blocks are free by the next step. Raise SchedulerInDoubtError."""
        with self._sound():
            self.scheduler.finish_request(request_id, reason)

    def erase(self, keys: Sequence[BlockKey]) -> None:
        """Erase these blocks from all tiers; while the scheduler is in doubt, in the next scheduler."""
        self._to_erase += keys
        try:
            with self._sound():
                self.scheduler.erase(keys)
                self._to_erase.clear()
        except SchedulerInDoubtError:
            return

    def erased(self, keys: Sequence[BlockKey]) -> bool | None:
        """Return True if these blocks were erased from all tiers, and False if a lower tier could not do so.

        A tier that is off and keeps blocks could not. Return None while it is not known.
        """
        erased = self.ask(lambda scheduler: scheduler.connector.erased(keys), otherwise=None)
        return erased and not self._keeps_blocks

    @property
    def has_room(self) -> bool:
        """Whether a stage has no step to compute."""
        return len(self.in_flight) < self._num_stages

    def fill(self) -> None:
        """Start steps until every stage has one, or there is nothing to do now. Raise SchedulerInDoubtError."""
        while self.has_room and self.begin_step(ahead=False) is not None:
            pass

    def begin_step(self, *, ahead: bool = True) -> InFlight | None:
        """Schedule and start a step. Return None if there is nothing to do now. Raise SchedulerInDoubtError.

        ahead: whether the step counts on the results of the oldest step in flight. Other steps in flight have other
            requests.
        """
        with self._sound():
            with self.trace.span(Track.SCHEDULER, "schedule"):
                output = self.scheduler.schedule(ahead=ahead)
            if output is None:
                return None
            added = {new.request_id for new in output.new_requests}
            # If `execute` raises, the worker may know these requests and still knows the dropped ones.
            self._in_worker |= added
            step = InFlight(output, self.executor.execute(output), follows_at_once=self._busy)
            self._in_worker -= set(output.dropped_request_ids) - added
            self.in_flight.append(step)
            return step

    def finish_step(self, step: InFlight) -> list[TokenUpdate]:
        """Process the result of the oldest step in flight. A step whose workers were lost is computed again.

        Raise StepFailedError, after which the engine continues; SchedulerInDoubtError; or EngineError if the workers
        are lost for good.
        """
        oldest = self.in_flight.popleft()
        assert oldest is step
        if not self.has_room:
            # The step that was waiting begins.
            self.in_flight[self._num_stages - 1].began = time.monotonic()
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
        if self.trace is not NO_TRACE:
            trace_step(self.trace, step.output, result)
        if step.output.total_tokens:
            drafting = result.draft_work.seconds if result.draft_work is not None else 0.0
            if step.follows_at_once:
                self.gap_seconds.observe(max(0.0, result.started - drafting - self._last_ended))
            self.step_seconds.observe((result.seconds + drafting) / step.output.passes)
            self.batch_sizes.observe(len(step.output.num_scheduled_tokens))
            self.step_timing.note(step.output, result.seconds)
            self._last_ended = result.ended

    def _recover(self, step: SchedulerOutput, lost: WorkersLostError) -> None:
        self._busy = False
        # If two steps are lost together, the second must not undo what was begun after the first.
        is_first = lost is not self._recovered
        self._restart_workers(lost)
        with self._sound():
            self.scheduler.lose_step(step)
            if is_first:
                self.scheduler.lose_device()

    def restart_if_lost(self) -> None:
        """Restart workers that were lost while no step was in flight. Raise EngineError if they are lost for good."""
        lost = self.executor.lost
        if lost is not None and not self.in_flight:
            self._restart_workers(lost)
            with self._sound():
                self.scheduler.lose_device()

    def _restart_workers(self, lost: WorkersLostError) -> None:
        if lost is not self._recovered:
            self._recovered = lost
            self.executor.restart()

    def condemn(self, error: BaseException) -> None:
        """Put the scheduler in doubt because of a defect in the code around it."""
        self.doubt = self.doubt or error

    def settle_copies(self) -> None:
        """Start a step that ends when no copy is in flight, whatever the scheduler in doubt knew of them."""
        output = SchedulerOutput(step_id=SETTLING_STEP)
        self.in_flight.append(InFlight(output, self.executor.execute(output), follows_at_once=False))

    def rebuild(self, requests: Iterable[Request]) -> None:
        """Replace the scheduler in doubt with a new one that has `requests`, which the old one must not know.

        Nothing of the old scheduler's state is used. Every step in flight must have ended, the last being that of
        `settle_copies`, because the new scheduler reuses the host slots and device blocks of copies. Results of the
        steps are dropped.
        Raise EngineError if the workers are lost for good, and any exception of `make_scheduler`.
        """
        assert self.in_flight, "copies may be in flight"
        assert self.in_flight[-1].output.step_id == SETTLING_STEP, "copies may be in flight"
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
        """Return the seconds after which the oldest step in flight counts as hung; None without a limit."""
        limit = self.executor.step_limit
        return max(0.0, limit.passes_at() - time.monotonic()) if limit is not None else None

    def hang_in_words(self) -> str:
        """Return a message that the oldest step hangs, with the limit that it exceeded."""
        limit = self.executor.step_limit
        assert limit is not None
        return f"a step did not end within {limit.seconds:g} s, and a thread of this process cannot be stopped"

    def time_to_prepare(self, step: InFlight) -> float | None:
        """Return the seconds to wait before beginning the step after `step`.

        None means to wait for the end of `step`: its tokens are needed for the next one, or its duration is unknown.
        """
        if step.output.is_awaited:
            return None
        expected = self.step_timing.expected_seconds(step.output)
        if expected is None:
            expected = self.ask(lambda scheduler: scheduler.step_time.cost.expected_seconds(step.output), None)
        return max(0.0, time_to_prepare(expected) + step.began - time.monotonic()) if expected else None

    @property
    def is_quiet(self) -> bool:
        """Whether no copy, load, refused store or erasure is in progress."""
        return self.ask(_is_quiet, otherwise=False)

    def next_poll_seconds(self) -> float | None:
        """Return the seconds until `begin_step` is worth another try; None if only a new request can change that."""
        return self.ask(_next_poll_seconds, otherwise=0.0)


def _is_quiet(scheduler: Scheduler) -> bool:
    return scheduler.connector.is_idle


def _next_poll_seconds(scheduler: Scheduler) -> float | None:
    return scheduler.connector.next_poll_seconds()
