"""A scheduler's step while the kernels compute it."""

import time
import weakref
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from engine.api.errors import EngineError
from engine.cpu.library import Kernels
from engine.cpu.weights import PackedModel
from engine.request.scheduler_output import ModelRunnerOutput, SchedulerOutput
from engine.worker.batch.forward_pass import NO_LOGPROBS, ForwardPass, embeddings_of, step_logprobs, step_output
from engine.worker.batch.input_batch import ExpectedTokens, InputBatch, ScheduledRequest
from engine.worker.batch.stage_exchange import StageExchange
from engine.worker.cache_engine import NO_MOVES, CacheEngine, PlannedTransfers, StepMoves
from engine.worker.native.step_arrays import StepArrays
from engine.worker.native.step_turns import StepTurns


@dataclass(frozen=True, slots=True)
class Started:
    """Pass that was submitted to the kernels.

    logits: [wanted, vocab], written by the kernels.
    inputs: hidden states that the kernels read; None on the first stage.
    hidden: hidden states [T, hidden] float32 for the next stage, written by the kernels; None on the last stage.
    """

    scheduled: Sequence[ScheduledRequest]
    arrays: StepArrays
    logits: torch.Tensor
    inputs: torch.Tensor | None
    hidden: torch.Tensor | None


@dataclass(frozen=True, slots=True)
class Computed:
    """Results of a pass. tokens: one per sampling row. logits: [wanted, vocab] float32, unchanged by sampling.

    started, ended: times of the computation, on time.perf_counter.
    move_seconds: duration of each load, then of each store.
    hidden: see `Started`.
    """

    tokens: list[int]
    logits: torch.Tensor
    started: float
    ended: float
    move_seconds: list[float]
    hidden: torch.Tensor | None


class NativeRunner:
    """Runner that keeps threads and memory between passes. Passes run in the order in which they were started."""

    def __init__(
        self, model: PackedModel, kv_cache: torch.Tensor, *, threads: int, turns: StepTurns | None = None
    ) -> None:
        """Start the threads.

        kv_cache: bfloat16 [num_blocks, BlockLayout.elements], its pages in the kernels' order.
        turns: shared with other engines on the same cores, and closed with the runner; None to take no turns.
        """
        self._model = model
        self._kv_cache = kv_cache
        self._free: list[StepArrays] = []
        files = {} if turns is None else {"turn": turns.turn, "place": turns.place}
        self._handle = model.kernels.create(model.struct, threads, **files)
        weakref.finalize(self, _end, model.kernels, self._handle, turns)

    def start(
        self,
        scheduled: Sequence[ScheduledRequest],
        wanted: Sequence[int] = (),
        moves: StepMoves = NO_MOVES,
        inputs: torch.Tensor | None = None,
    ) -> Started:
        """Submit a pass to the kernels; the caller must finish it. If this raises EngineError, nothing was started.

        wanted: ascending indices, among sampling rows, of those whose logits to return; those of the rows before
            `prompt_targets` come after them. Only the last stage returns logits.
        inputs: hidden states [T, hidden] float32 of the stage before, unless this is the first one.
        """
        samples = self._model.stage.is_last
        arrays = (self._free.pop() if self._free else self._new_arrays()).with_room_for(scheduled, moves)
        model = self._model
        arrays.fill(scheduled, wanted, moves, samples=samples, adapters=model.adapters, virtual=model.virtual)
        num_scored = sum(len(request.prompt_targets) for request in scheduled)
        logits = torch.empty((len(wanted) + num_scored if samples else 0, self._model.vocab_size))
        hidden = None
        if not samples:
            hidden = torch.empty((sum(len(request.token_ids) for request in scheduled), self._model.hidden_size))
        arrays.input.logits = logits.data_ptr()
        arrays.input.hidden_in = inputs.data_ptr() if inputs is not None else None
        arrays.input.hidden_out = hidden.data_ptr() if hidden is not None else None
        self._model.kernels.submit(self._handle, arrays.input)
        return Started(scheduled, arrays, logits, inputs, hidden)

    def wait(self, started: Started) -> None:
        """Wait until the pass has ended, and with it all passes started before."""
        self._model.kernels.wait(self._handle, started.arrays.input)

    def finish(self, started: Started) -> Computed:
        """Wait for the pass; once for each. Raise EngineError if the kernels could not run the pass."""
        arrays = started.arrays
        try:
            self.wait(started)
            step = arrays.input
            if step.problem is not None:
                raise EngineError(f"the native step failed: {step.problem.decode()}")
            return Computed(
                arrays.chosen(), started.logits, step.started, step.ended, arrays.move_seconds(), started.hidden
            )
        finally:
            self._free.append(arrays)

    def compute(self, scheduled: Sequence[ScheduledRequest], wanted: Sequence[int] = ()) -> Computed:
        """Compute a pass: start it, and wait for its end."""
        return self.finish(self.start(scheduled, wanted))

    def _new_arrays(self) -> StepArrays:
        return StepArrays(
            self._kv_cache,
            self._model.vocab_size,
            self._model.struct.hidden,
            sequences=32,
            rows=512,
            blocks=32,
            barred=32,
            moves=32,
            masks=0,
            adjusted=0,
            summed=0,
        )


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


def _end(kernels: Kernels, handle: int, turns: StepTurns | None) -> None:
    kernels.destroy(handle)
    if turns is not None:
        turns.close()
