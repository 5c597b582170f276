"""One step of the model in one native call."""

import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from engine.cpu.step_arrays import StepArrays
from engine.cpu.weights import PackedModel
from engine.worker.forward_pass import ForwardPass
from engine.worker.input_batch import InputBatch, ScheduledRequest


@dataclass(frozen=True, slots=True)
class Computed:
    """tokens: of each sampling request. logits: [wanted, vocab] float32, -inf where a token may not be chosen.

    started, ended: around the native call, on time.perf_counter.
    """

    tokens: list[int]
    logits: torch.Tensor
    started: float
    ended: float


class NativeRunner:
    """What `engine.worker.model_runner.ModelRunner` is for the torch model; threads and memory stay between steps."""

    def __init__(self, model: PackedModel, kv_cache: torch.Tensor, *, threads: int) -> None:
        """kv_cache: bfloat16 [num_blocks, *BlockLayout.shape]; inside a page the kernels' own order holds."""
        self._model = model
        self._arrays = StepArrays(kv_cache, sequences=32, rows=512, blocks=32, barred=32)
        self._handle = model.kernels.create(model.struct, threads)
        weakref.finalize(self, model.kernels.destroy, self._handle)

    def run(self, batch: InputBatch, num_scheduled_tokens: Mapping[str, int]) -> ForwardPass:
        """See `ModelRunner.run`."""
        scheduled = batch.select(num_scheduled_tokens)
        computed = self.compute(scheduled)
        sampling_ids = (request.request_id for request in scheduled if request.sampling is not None)
        sampled = dict(zip(sampling_ids, computed.tokens, strict=True))
        batch.append(sampled.keys(), sampled.values())
        return ForwardPass(sampled, computed.started, computed.ended)

    def compute(self, scheduled: Sequence[ScheduledRequest], wanted: Sequence[int] = ()) -> Computed:
        """The native call. wanted: ascending indices, among sampling requests, of those whose logits to return."""
        self._arrays = arrays = self._arrays.with_room_for(scheduled)
        arrays.fill(scheduled, wanted)
        logits = torch.empty((len(wanted), self._model.vocab_size))
        arrays.input.logits = logits.data_ptr()
        started = time.perf_counter()
        self._model.kernels.step(self._handle, arrays.input)
        return Computed(arrays.chosen(), logits, started, time.perf_counter())
