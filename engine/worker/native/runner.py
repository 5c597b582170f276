"""Passes of the model through the kernels: one native step each, computed while Python does something else."""

import weakref
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from engine.api.errors import EngineError
from engine.cpu.weights import PackedModel
from engine.worker.batch.input_batch import ScheduledRequest
from engine.worker.batch.step_moves import NO_MOVES, StepMoves
from engine.worker.native.step_arrays import StepArrays


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

    def __init__(self, model: PackedModel, kv_cache: torch.Tensor, *, threads: int) -> None:
        """Start the threads. kv_cache: bfloat16 [num_blocks, BlockLayout.elements], its pages in the kernels' order."""
        self._model = model
        self._kv_cache = kv_cache
        self._free: list[StepArrays] = []
        self._handle = model.kernels.create(model.struct, threads)
        weakref.finalize(self, model.kernels.destroy, self._handle)

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
        arrays.fill(scheduled, wanted, moves, samples=samples)
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
