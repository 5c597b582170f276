"""Sampling of one token per row of logits, all rows at once. A row's token never depends on the rest of the batch."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from engine.api.sampling_params import SamplingParams
from engine.device.pinned_copy import upload
from engine.sampling.adjustments import Adjustments
from engine.sampling.batch_settings import BatchSettings, RequestMemory, fitted, keep_allowed
from engine.sampling.masks import Words


@dataclass(frozen=True, slots=True)
class SamplingRow:
    """Sampling of one row.

    position: index of the new token in the whole sequence.
    produced: tokens of the answer so far.
    mask: allowed ids; None for any.
    adjustments: changes to the logits; None for none.
    ends_of_phrases: ids that would complete a barred phrase.
    """

    params: SamplingParams
    position: int
    produced: int
    mask: Words | None = None
    adjustments: Adjustments | None = None
    ends_of_phrases: tuple[int, ...] = ()

    @property
    def num_logprobs(self) -> int | None:
        """Number of likeliest tokens to report with this one; None for no report."""
        return self.params.logprobs

    @property
    def barred_ids(self) -> tuple[int, ...]:
        """Ids that may not be sampled: ends of phrases and, before min_tokens, the ids that end the answer."""
        ends = self.params.ending_ids if self.produced < self.params.min_tokens else ()
        return ends + self.ends_of_phrases


class Sampler:
    """Sampler on one device. `SamplingParams` documents the order of changes before the inverse CDF picks a token.

    The requests' settings and the tokens that they have seen stay on the device between steps.
    """

    def __init__(self) -> None:
        self._memory: RequestMemory | None = None
        self._batch: tuple[tuple[SamplingParams, Adjustments | None], ...] = ()
        self._settings: BatchSettings | None = None

    def sample(self, logits: torch.Tensor, rows: Sequence[SamplingRow]) -> torch.Tensor:
        """Sample one token id per row of `logits` [R, vocab] float32, which are overwritten. Return [R] int64.

        The ids stay on the device, and the host does not wait for them, unless a row may keep more than CANDIDATES
        tokens. Greedy rows take the lowest id on ties. The tokens are added to those that the requests have seen.
        Raise EngineError for a row that draws without a seed.
        """
        settings = self._settings_of(logits, rows)
        settings.adjust(logits)
        _bar(logits, rows)
        return settings.choose(logits, [row.position for row in rows])

    def _settings_of(self, logits: torch.Tensor, rows: Sequence[SamplingRow]) -> BatchSettings:
        batch = tuple((row.params, row.adjustments) for row in rows)
        if self._memory is None:
            self._memory = RequestMemory(logits.shape[-1], logits.device)
        if self._settings is None or batch != self._batch:
            self._settings = BatchSettings(
                [params for params, _ in batch], [adjustment for _, adjustment in batch], self._memory
            )
            self._batch = batch
        return self._settings


def _bar(logits: torch.Tensor, rows: Sequence[SamplingRow]) -> None:
    """Set the logits of tokens to -inf that are barred in this step only."""
    if masks := [(i, row.mask) for i, row in enumerate(rows) if row.mask is not None]:
        words = np.stack([fitted(mask, logits.shape[-1]) for _, mask in masks]).view(np.int32)
        at = np.array([i for i, _ in masks], dtype=np.int64)
        keep_allowed(logits, upload(at, logits.device), upload(words, logits.device))
    if own := [(i, row.barred_ids) for i, row in enumerate(rows) if row.barred_ids]:
        lines = np.repeat([i for i, _ in own], [len(ids) for _, ids in own])
        columns = np.concatenate([np.array(ids, dtype=np.int64) for _, ids in own])
        logits[upload(lines, logits.device), upload(columns, logits.device)] = float("-inf")
