"""One step of the model: rows in, one token per request that samples out."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import numpy as np
import torch

from engine.attention.backend import AttentionBackend
from engine.device.pinned_copy import upload
from engine.sampling.logprobs import packed_logprobs, unpacked
from engine.worker.batch.forward_pass import NO_LOGPROBS, ForwardPass, ScoredRows, StepLogprobs
from engine.worker.batch.input_batch import InputBatch, ScheduledRequest, StepInput
from engine.worker.torch.device import Device
from engine.worker.torch.sampling_head import SamplingHead
from models.interface.causal_lm import Adaptable, CausalLM
from models.interface.parallel import SINGLE_RANK, RankGroup


def start_logprobs(
    scheduled: Sequence[ScheduledRequest], sampled: torch.Tensor, logits: Sequence[torch.Tensor], device: Device
) -> Callable[[Sequence[int]], StepLogprobs]:
    """Queue the log probabilities of a pass, and their read.

    sampled: [R] int64, the sampled tokens, one per sampling row.
    logits: parts of the logits of the rows of `ScoredRows`, float32, unadjusted; none if no row wants any.

    Return a function that waits for them. The function receives the sampled tokens, which the host then knows.
    """
    if not logits:
        return lambda _: NO_LOGPROBS
    rows = ScoredRows.of(scheduled)
    read = device.start_read(packed_logprobs(torch.cat(list(logits)), _token_ids(rows, sampled), max(rows.tops)))
    return lambda tokens: rows.by_request(unpacked(read(), rows.token_ids(tokens), rows.tops))


def _token_ids(rows: ScoredRows, sampled: torch.Tensor) -> torch.Tensor:
    """Return the token of each of `rows`, on the device."""
    if len(rows.sampled) < len(sampled):
        sampled = sampled.index_select(0, upload(np.array(rows.sampled, dtype=np.int64), sampled.device))
    if not rows.targets:
        return sampled
    return torch.cat((sampled, upload(np.array(rows.targets, dtype=np.int64), sampled.device)))


def forward(model: CausalLM, inputs: torch.Tensor, step: StepInput, attention: AttentionBackend) -> torch.Tensor:
    """Compute a step in the order of the model's layers. inputs: as for `CausalLM.forward`."""
    context = attention.begin_step(step.attention)
    if not step.adapted:
        return model.forward(inputs, step.positions, context)
    assert isinstance(model, Adaptable), "the worker loads adapters into no other model"
    return model.forward(inputs, step.positions, context, step.adapted)


class StepGraphs(Protocol):
    """Captured graphs of some steps."""

    def run(self, step: StepInput, input_ids: torch.Tensor) -> torch.Tensor | None:
        """Compute a step in a graph, and return the final hidden states [T, hidden]; None if no graph fits the step.

        The result is valid until the next run.

        input_ids: those of `step`, without placeholders.
        """


class ModelRunner:
    """Model, attention backend and sampler of a worker.

    Sampled tokens stay on the device, where the next pass reads them. The host reads them while that pass runs.
    """

    def __init__(
        self,
        model: CausalLM,
        attention: AttentionBackend,
        device: Device,
        graphs: Sequence[StepGraphs] = (),
        ranks: RankGroup = SINGLE_RANK,
    ) -> None:
        """Create a runner. graphs: the first that fits a step computes it. ranks: the first one samples for all."""
        self._model = model
        self._graphs = graphs
        self._attention = attention
        self._device = device
        self._head = SamplingHead(model, ranks)
        self._sampled = torch.zeros(0, dtype=torch.int64, device=device.torch_device)
        self._ended = 0.0

    @torch.inference_mode()
    def start(self, batch: InputBatch, num_scheduled_tokens: Mapping[str, int]) -> Callable[[], ForwardPass]:
        """Queue a pass over the scheduled tokens, which samples where a request's last known token is among them.

        Return a function that waits for the pass and adds the sampled ids to `batch`. Call it once, in the order of the
        passes, from any thread. The next pass may be started before.
        """
        step = batch.build(num_scheduled_tokens)
        started = time.perf_counter()
        hidden = self._hidden_states(step)
        tokens, wanted = self._head.sample(hidden, step)
        read, finish_sums = self._device.start_read(tokens), self._head.start_sums(hidden, step.scheduled, self._device)
        finish_logprobs = start_logprobs(step.scheduled, tokens, wanted, self._device)
        # From here on, placeholders are those of this pass.
        expected = batch.expect(step.scheduled)
        self._sampled = tokens

        def finish() -> ForwardPass:
            known = read().tolist()
            sampled, logprobs = expected.fill(known), finish_logprobs(known)
            # The device began once it had finished the pass before.
            began = max(started, self._ended)
            self._ended = time.perf_counter()
            return ForwardPass(sampled, began, self._ended, logprobs, finish_sums())

        return finish

    def _hidden_states(self, step: StepInput) -> torch.Tensor:
        """Compute the final hidden states [T, hidden]."""
        input_ids = step.input_ids
        if len(self._sampled):
            places = (~input_ids).clamp(min=0, max=len(self._sampled) - 1)
            input_ids = torch.where(input_ids < 0, self._sampled[places], input_ids)
        # A captured graph has no adapters.
        for graphs in () if step.adapted else self._graphs:
            if (hidden := graphs.run(step, input_ids)) is not None:
                return hidden
        return forward(self._model, input_ids, step, self._attention)
