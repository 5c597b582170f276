"""The loop's body: schedule, execute, update. Knows no text and no sockets."""

import time
from concurrent.futures import Future
from typing import Protocol

from engine.outputs import FinishReason
from engine.request import Request
from engine.scheduling.output import ModelRunnerOutput, SchedulerOutput
from engine.scheduling.scheduler import Scheduler, TokenUpdate
from engine.stats import Histogram


class Executor(Protocol):
    """Whoever runs the model: in this process now, elsewhere later."""

    def execute(self, output: SchedulerOutput) -> Future[ModelRunnerOutput]:
        """Steps run in the order of their calls."""

    def close(self) -> None:
        """End its thread; steps under way finish first."""


class StepFailedError(Exception):
    """A step raised: `requests` ended with it."""

    def __init__(self, requests: list[Request]) -> None:
        super().__init__(f"a step failed with {len(requests)} requests in it")
        self.requests = requests


class EngineCore:
    """One scheduler, one executor, one step at a time: `begin_step`, then `finish_step` with its result."""

    def __init__(self, scheduler: Scheduler, executor: Executor) -> None:
        self.scheduler = scheduler
        self.executor = executor
        self.step_seconds = Histogram.of_seconds()
        self.gap_seconds = Histogram.of_seconds()
        self.batch_sizes = Histogram.of_counts()
        self._step_ended: float | None = None

    def add_request(self, request: Request) -> None:
        """Queue it. Raises OverloadedError."""
        self.scheduler.add_request(request)

    def finish_request(self, request_id: str, reason: FinishReason) -> Request | None:
        """End it now; its blocks are free by the next step."""
        return self.scheduler.finish_request(request_id, reason)

    def begin_step(self) -> tuple[SchedulerOutput, Future[ModelRunnerOutput]] | None:
        """Schedule and start a step; None if there is nothing to do now."""
        output = self.scheduler.schedule()
        if output is None:
            self._step_ended = None
            return None
        if self._step_ended is not None and output.total_tokens:
            self.gap_seconds.observe(time.perf_counter() - self._step_ended)
        return output, self.executor.execute(output)

    def finish_step(self, output: SchedulerOutput, future: Future[ModelRunnerOutput]) -> list[TokenUpdate]:
        """Take the result of a step that has ended. Raises StepFailedError, after which the engine goes on."""
        self._step_ended = time.perf_counter()
        try:
            result = future.result()
        except Exception as error:
            raise StepFailedError(self.scheduler.fail_step(output)) from error
        if output.total_tokens:
            self.step_seconds.observe(result.seconds)
            self.batch_sizes.observe(len(output.num_scheduled_tokens))
        return self.scheduler.update(output, result)

    @property
    def is_quiet(self) -> bool:
        """Whether no copy, load or refused store is under way."""
        tiering = self.scheduler.tiering
        return tiering is None or (tiering.is_quiet and not tiering.tiers.has_copies)

    def next_poll_seconds(self) -> float | None:
        """How soon to try a step again when `begin_step` had nothing; None: not before something is added."""
        tiering = self.scheduler.tiering
        return tiering.tiers.next_poll_seconds() if tiering is not None else None
