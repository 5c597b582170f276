"""One step of the model: rows in, one token per request that samples out."""

import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch

from engine.attention.backend import AttentionBackend
from engine.sampling.sampler import Sampler, SamplingRow
from engine.upload import upload
from engine.worker.batch.embedding import HiddenSum
from engine.worker.batch.forward_pass import NO_LOGPROBS, ForwardPass, embeddings_of, step_logprobs
from engine.worker.batch.input_batch import InputBatch, ScheduledRequest, StepInput
from engine.worker.torch.decode_graphs import DecodeGraphs
from engine.worker.torch.device import Device
from models.interface import CausalLM
from models.parallel import ALONE, RankGroup


class ModelRunner:
    """Model, attention backend and sampler of a worker.

    Sampled tokens stay on the device, where the next pass reads them. The host reads them while that pass runs.
    """

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
        tokens, wanted = self._sample(self._rows(hidden, step.logits_rows), step.sampling_rows)
        if step.scored_rows and self._ranks.rank == 0:
            wanted.append(self._model.compute_logits(self._rows(hidden, step.scored_rows)))
        read, finish_sums = self._device.start_read(tokens), self._start_sums(hidden, step.scheduled)
        logprobs = step_logprobs(step.scheduled, read().tolist(), torch.cat(wanted)) if wanted else NO_LOGPROBS
        # From here on, placeholders are those of this pass.
        expected = batch.expect(step.scheduled)
        self._sampled = tokens

        def finish() -> ForwardPass:
            sampled = expected.fill(read().tolist())
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
        hidden = self._graphs.run(step, input_ids) if self._graphs is not None else None
        if hidden is None:
            context = self._attention.begin_step(step.attention)
            hidden = self._model.forward(input_ids, step.positions, context)
        return hidden

    def _start_sums(
        self, hidden: torch.Tensor, scheduled: Sequence[ScheduledRequest]
    ) -> Callable[[], dict[str, bytes]]:
        """Queue the reads of the hidden states that embeddings need, on rank 0 only.

        Return a function that adds them to their sums and returns the embeddings that are complete.
        """
        reads: list[tuple[HiddenSum, Callable[[], torch.Tensor]]] = []
        if self._ranks.rank > 0:
            return dict
        first = 0
        for request in scheduled:
            rows = request.summed_rows
            if request.hidden_sum is not None and rows:
                chunk = hidden[first + rows.start : first + rows.stop]
                reads.append((request.hidden_sum, self._device.start_read(chunk)))
            first += len(request.token_ids)

        def finish() -> dict[str, bytes]:
            for hidden_sum, read in reads:
                hidden_sum.add(read())
            return embeddings_of(scheduled)

        return finish

    def _rows(self, hidden: torch.Tensor, rows: Sequence[int]) -> torch.Tensor:
        """Return `rows`, in ascending order, of `hidden`."""
        if len(rows) == len(hidden):
            return hidden
        return hidden.index_select(0, upload(np.array(rows, dtype=np.int64), hidden.device))

    def _sample(self, hidden: torch.Tensor, rows: Sequence[SamplingRow]) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """Sample a token for each of `rows` from its hidden state [R, hidden], and return the tokens on every rank.

        Also return the model's logits of the rows that ask for log probabilities, on rank 0 only.
        """
        tokens, wanted = hidden.new_zeros(len(rows), dtype=torch.int64), list[torch.Tensor]()
        if not rows:
            return tokens, wanted
        if self._ranks.rank == 0:
            logits = self._model.compute_logits(hidden)
            if scored := [i for i, row in enumerate(rows) if row.num_logprobs is not None]:
                wanted.append(self._rows(logits, scored).clone())
            tokens = self._sampler.sample(logits, rows)
        return self._ranks.agree(tokens), wanted
