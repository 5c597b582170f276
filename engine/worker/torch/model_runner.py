"""One step of the model: rows in, one token per request that samples out."""

import time
from collections.abc import Mapping, Sequence

import torch

from engine.attention.backend import AttentionBackend
from engine.sampling.sampler import Sampler, SamplingRow
from engine.worker.batch.forward_pass import NO_LOGPROBS, ForwardPass, step_logprobs
from engine.worker.batch.input_batch import InputBatch
from engine.worker.torch.decode_graphs import DecodeGraphs
from engine.worker.torch.device import Device
from models.interface import CausalLM
from models.parallel import ALONE, RankGroup


class ModelRunner:
    """Model, attention backend and sampler of a worker. Nothing is kept between steps."""

    def __init__(
        self,
        model: CausalLM,
        attention: AttentionBackend,
        device: Device,
        graphs: DecodeGraphs | None = None,
        ranks: RankGroup = ALONE,
    ) -> None:
        """Create a runner. graphs: recorded graphs of steps that only decode. ranks: the first one samples for all."""
        self._ranks = ranks
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
        sampled: dict[str, tuple[int, ...]] = {}
        tokens: list[int] = []
        wanted: list[torch.Tensor] = []
        if step.sampling_rows:
            rows = hidden if len(step.sampling_rows) == len(hidden) else hidden[step.logits_rows]
            tokens, wanted = self._sample(rows, step.sampling_rows)
            sampled = batch.expect(step.scheduled).fill(tokens)
        if len(step.scored_rows) and self._ranks.rank == 0:
            wanted.append(self._model.compute_logits(hidden[step.scored_rows]))
        logprobs = step_logprobs(step.scheduled, tokens, torch.cat(wanted)) if wanted else NO_LOGPROBS
        self._device.synchronize()
        return ForwardPass(sampled, started, time.perf_counter(), logprobs)

    def _sample(self, hidden: torch.Tensor, rows: Sequence[SamplingRow]) -> tuple[list[int], list[torch.Tensor]]:
        """Sample a token for each of `rows` from its hidden state [R, hidden], and return the tokens on every rank.

        Also return the model's logits of the rows that ask for log probabilities, on rank 0 only.
        """
        tokens, wanted = [0] * len(rows), list[torch.Tensor]()
        if self._ranks.rank == 0:
            logits = self._model.compute_logits(hidden)
            if scored := [i for i, row in enumerate(rows) if row.num_logprobs is not None]:
                wanted.append(logits[scored])
            tokens = self._sampler.sample(logits, rows)
        return self._ranks.agree(tokens), wanted
