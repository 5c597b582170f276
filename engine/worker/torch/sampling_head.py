"""Final hidden states to tokens, by the output matrix and the sampler, and to embeddings."""

from collections.abc import Callable, Sequence

import numpy as np
import torch

from engine.device.pinned_copy import upload
from engine.sampling.sampler import Sampler, SamplingRow
from engine.worker.batch.embedding import HiddenSum
from engine.worker.batch.forward_pass import embeddings_of
from engine.worker.batch.input_batch import ScheduledRequest, StepInput
from engine.worker.torch.device import Device
from models.interface.causal_lm import CausalLM
from models.interface.parallel import RankGroup


class SamplingHead:
    """End of a pass. Rank 0 samples for all ranks."""

    def __init__(self, model: CausalLM, ranks: RankGroup) -> None:
        self._model = model
        self._ranks = ranks
        self._sampler = Sampler()

    def sample(self, hidden: torch.Tensor, step: StepInput) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """Sample a token for each sampling row of `step` from the hidden states [T, hidden].

        Return the tokens on every rank, and on rank 0 the model's logits of the rows that ask for log probabilities,
        those before `prompt_targets` last.
        """
        tokens, wanted = self._sample(_rows(hidden, step.logits_rows), step.sampling_rows)
        if step.scored_rows and self._ranks.rank == 0:
            wanted.append(self._model.compute_logits(_rows(hidden, step.scored_rows)))
        return tokens, wanted

    def _sample(self, hidden: torch.Tensor, rows: Sequence[SamplingRow]) -> tuple[torch.Tensor, list[torch.Tensor]]:
        tokens, wanted = hidden.new_zeros(len(rows), dtype=torch.int64), list[torch.Tensor]()
        if not rows:
            return tokens, wanted
        if self._ranks.rank == 0:
            logits = self._model.compute_logits(hidden)
            if scored := [i for i, row in enumerate(rows) if row.num_logprobs is not None]:
                wanted.append(_rows(logits, scored).clone())
            tokens = self._sampler.sample(logits, rows)
        return self._ranks.agree(tokens), wanted

    def start_sums(
        self, hidden: torch.Tensor, scheduled: Sequence[ScheduledRequest], device: Device
    ) -> Callable[[], dict[str, bytes]]:
        """Queue the reads of the hidden states [T, hidden] that embeddings need, on rank 0 only.

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
                reads.append((request.hidden_sum, device.start_read(chunk)))
            first += len(request.token_ids)

        def finish() -> dict[str, bytes]:
            for hidden_sum, read in reads:
                hidden_sum.add(read())
            return embeddings_of(scheduled)

        return finish


def _rows(hidden: torch.Tensor, rows: Sequence[int]) -> torch.Tensor:
    """Return `rows`, in ascending order, of `hidden`."""
    if len(rows) == len(hidden):
        return hidden
    return hidden.index_select(0, upload(np.array(rows, dtype=np.int64), hidden.device))
