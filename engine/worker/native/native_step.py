"""A scheduler's step while the kernels compute it."""

import time

from engine.api.errors import EngineError
from engine.request.scheduler_output import ModelRunnerOutput, SchedulerOutput
from engine.worker.batch.forward_pass import NO_LOGPROBS, ForwardPass, embeddings_of, step_logprobs, step_output
from engine.worker.batch.input_batch import ExpectedTokens, InputBatch
from engine.worker.batch.stage_exchange import StageExchange
from engine.worker.batch.step_moves import PlannedTransfers, StepMoves
from engine.worker.cache_engine import CacheEngine
from engine.worker.native.runner import Computed, NativeRunner, Started


class NativeStep:
    """A step that is submitted on construction. Call `collect` once, from any thread.

    Block moves are submitted with the passes: copies and loads with the first pass, stores with the last. So moves stay
    ordered between the steps before and after, independent of which thread submits those and when.
    """

    def __init__(
        self,
        *,
        step: SchedulerOutput,
        number: int,
        runner: NativeRunner,
        batch: InputBatch,
        cache: CacheEngine,
        received: float,
        exchange: StageExchange | None = None,
    ) -> None:
        """Submit the step.

        number: number of the step in the cache's ledger of owed results.
        received: time at which the step arrived, on time.perf_counter.
        exchange: connection to the other stages of a pipeline; None if there are none.

        Raise EngineError if the step cannot be run. No part of the step is in flight then.
        """
        self._step = step
        self._number = number
        self._owed = cache.owed
        self._runner = runner
        self._exchange = exchange if step.num_scheduled_tokens else None
        self._received = received
        self._copies = cache.copy_addresses(step.copies)
        self._loads = PlannedTransfers(step.loads, cache.transfer_addresses)
        self._stores = PlannedTransfers(step.stores, cache.transfer_addresses)
        self._passes: list[tuple[Started, ExpectedTokens]] = []
        try:
            for number in range(step.passes):
                if self._exchange is not None:
                    self._exchange.begin(batch, step.num_scheduled_tokens)
                scheduled = batch.select(step.num_scheduled_tokens)
                sampling = [row for request in scheduled for row in request.sampling]
                wanted = [i for i, row in enumerate(sampling) if row.num_logprobs is not None]
                inputs = None
                if self._exchange is not None:
                    inputs = self._exchange.inputs(sum(len(request.token_ids) for request in scheduled))
                started = runner.start(scheduled, wanted, self._moves(number), inputs)
                self._passes.append((started, batch.expect(scheduled)))
        except BaseException:
            # The kernels still use the arrays of the passes that were started.
            self._finish_all()
            raise
        self._prepared = time.perf_counter()

    def _moves(self, number: int) -> StepMoves:
        first, last = number == 0, number == self._step.passes - 1
        return StepMoves(
            self._copies if first else (),
            self._loads.addresses if first else (),
            self._stores.addresses if last else (),
        )

    def collect(self) -> ModelRunnerOutput:
        """Wait for the step and return its output. Raise EngineError if the kernels could not run it."""
        passes, seconds = self._finish_all()
        loaded = len(self._loads.addresses)
        transfers = self._loads.results(seconds[:loaded]) + self._stores.results(seconds[loaded:])
        # Results owed by earlier steps that failed.
        transfers += self._owed.take(self._number, wait=True)
        if not self._step.num_scheduled_tokens:
            passes = []
        return step_output(self._step, passes, transfers, received=self._received, prepared=self._prepared)

    def _finish_all(self) -> tuple[list[ForwardPass], list[float]]:
        """Wait for every pass, even if another one failed, and return the passes and the durations of the moves.

        The last pass is waited for first, so that this thread wakes only once.
        """
        if self._passes:
            self._runner.wait(self._passes[-1][0])
        passes: list[ForwardPass] = []
        seconds: list[float] = []
        failure: EngineError | None = None
        for started, expected in self._passes:
            try:
                computed = self._runner.finish(started)
            except EngineError as error:
                failure = failure or error
                if self._exchange is not None:
                    self._exchange.fail(expected)
                continue
            sampled = self._settle(computed, expected)
            logprobs = (
                step_logprobs(started.scheduled, computed.tokens, computed.logits)
                if len(computed.logits)
                else NO_LOGPROBS
            )
            embeddings = embeddings_of(started.scheduled) if computed.hidden is None else {}
            passes.append(ForwardPass(sampled, computed.started, computed.ended, logprobs, embeddings))
            seconds += computed.move_seconds
        if failure is not None:
            raise failure
        return passes, seconds

    def _settle(self, computed: Computed, expected: ExpectedTokens) -> dict[str, tuple[int, ...]]:
        """Pass on what the other stages need, and return the accepted tokens by request id."""
        if self._exchange is None:
            return expected.fill(computed.tokens)
        if computed.hidden is None:
            return self._exchange.end(computed.tokens, expected)
        self._exchange.pass_on(computed.hidden, expected)
        return {}
