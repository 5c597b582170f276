"""One step of the model: rows in, one token per request that samples out."""

import time
from collections.abc import Mapping

import torch

from engine.attention.backend import AttentionBackend
from engine.sampling.sampler import Sampler
from engine.worker.decode_graphs import DecodeGraphs
from engine.worker.device import Device
from engine.worker.forward_pass import ForwardPass
from engine.worker.input_batch import InputBatch
from models.interface import CausalLM


class ModelRunner:
    """Binds a model, an attention backend and a sampler; keeps nothing between steps."""

    def __init__(
        self, model: CausalLM, attention: AttentionBackend, device: Device, graphs: DecodeGraphs | None = None
    ) -> None:
        """graphs: of steps that only decode, as far as they are recorded."""
        self._model = model
        self._graphs = graphs
        self._attention = attention
        self._device = device
        self._sampler = Sampler()

    @torch.inference_mode()
    def run(self, batch: InputBatch, num_scheduled_tokens: Mapping[str, int]) -> ForwardPass:
        """Compute the scheduled tokens, and sample where a request's last known token is among them.

        The sampled ids are appended in `batch` too.
        """
        step = batch.build(num_scheduled_tokens)
        started = time.perf_counter()
        hidden = self._graphs.run(step) if self._graphs is not None else None
        if hidden is None:
            context = self._attention.begin_step(step.attention)
            hidden = self._model.forward(step.input_ids, step.positions, context)
        sampled: dict[str, int] = {}
        if step.sampling_ids:
            rows = hidden if len(step.sampling_ids) == len(hidden) else hidden[step.logits_rows]
            tokens = self._sampler.sample(self._model.compute_logits(rows), step.sampling_rows)
            sampled = batch.expect(step.sampling_ids).fill(tokens)
        self._device.synchronize()
        return ForwardPass(sampled, started, time.perf_counter())
