"""One step of the model in one native call."""

import time
import weakref
from collections.abc import Mapping, Sequence

import torch

from engine.cpu.step_arrays import StepArrays
from engine.cpu.weights import PackedModel
from engine.worker.input_batch import InputBatch, ScheduledRequest


class NativeRunner:
    """What `engine.worker.model_runner.ModelRunner` is for the torch model; threads and memory stay between steps."""

    def __init__(self, model: PackedModel, kv_cache: torch.Tensor, *, threads: int) -> None:
        """kv_cache: bfloat16 [num_blocks, *BlockLayout.shape]; inside a page the kernels' own order holds."""
        self._model = model
        self._arrays = StepArrays(kv_cache, sequences=32, rows=512, blocks=32, barred=32)
        self._handle = model.kernels.create(model.struct, threads)
        weakref.finalize(self, model.kernels.destroy, self._handle)

    def run(self, batch: InputBatch, num_scheduled_tokens: Mapping[str, int]) -> tuple[dict[str, int], float]:
        """See `ModelRunner.run`."""
        started = time.perf_counter()
        scheduled = batch.select(num_scheduled_tokens)
        tokens, _ = self.compute(scheduled)
        sampling_ids = (request.request_id for request in scheduled if request.sampling is not None)
        sampled = dict(zip(sampling_ids, tokens, strict=True))
        batch.append(sampled.keys(), sampled.values())
        return sampled, time.perf_counter() - started

    def compute(
        self, scheduled: Sequence[ScheduledRequest], wanted: Sequence[int] = ()
    ) -> tuple[list[int], torch.Tensor]:
        """The native call. Returns the token of each sampling request, and the logits of those in `wanted`.

        wanted: ascending indices among the sampling requests. logits: [len(wanted), vocab] float32, -inf where a token
        may not be chosen.
        """
        self._arrays = arrays = self._arrays.with_room_for(scheduled)
        arrays.fill(scheduled, wanted)
        logits = torch.empty((len(wanted), self._model.vocab_size))
        arrays.input.logits = logits.data_ptr()
        self._model.kernels.step(self._handle, arrays.input)
        return arrays.chosen(), logits
