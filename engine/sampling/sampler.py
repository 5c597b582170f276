"""Chooses one token per row of logits. A row's choice depends on that row alone, never on the rest of the batch."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from engine.errors import EngineError
from engine.sampling.candidates import likeliest
from engine.sampling.inverse_cdf import invert_cdf
from engine.sampling.mask_words import Words, allowed_ids
from engine.sampling.philox import uniform
from engine.sampling_params import SamplingParams


@dataclass(frozen=True, slots=True)
class SamplingRow:
    """position: index of the new token in the whole sequence; produced: tokens that the request has made so far.

    mask: which ids may be chosen; None: any.
    """

    params: SamplingParams
    position: int
    produced: int
    mask: Words | None = None

    @property
    def barred_ids(self) -> tuple[int, ...]:
        """Ids that may not be chosen: those that end the answer, until min_tokens is reached."""
        return self.params.stop_token_ids if self.produced < self.params.min_tokens else ()


class Sampler:
    """Stateless. Order: min_tokens mask, temperature, top_k, top_p, then one uniform number through the inverse CDF."""

    def sample(self, logits: torch.Tensor, rows: Sequence[SamplingRow]) -> list[int]:
        """logits [R, vocab] float32, overwritten; one token id per row. Greedy rows take the lowest id on ties.

        Raises EngineError for a row that draws without a seed.
        """
        for i, row in enumerate(rows):
            if row.barred_ids:
                logits[i, list(row.barred_ids)] = float("-inf")
        _apply_masks(logits, rows)
        drawn = [i for i, row in enumerate(rows) if row.params.temperature > 0]
        chosen = [int(token) for token in logits.argmax(dim=-1).tolist()] if len(drawn) < len(rows) else [0] * len(rows)
        if drawn:
            probs = _probabilities(logits[drawn], [rows[i].params.temperature for i in drawn])
            for i, line in zip(drawn, probs, strict=True):
                chosen[i] = _draw(line, rows[i])
        return chosen


def _apply_masks(logits: torch.Tensor, rows: Sequence[SamplingRow]) -> None:
    masked = [(i, row.mask) for i, row in enumerate(rows) if row.mask is not None]
    if masked:
        allowed = allowed_ids(np.stack([mask for _, mask in masked]), logits.shape[-1])
        barred = torch.from_numpy(~allowed).to(logits.device)
        at = torch.tensor([i for i, _ in masked], device=logits.device)
        logits[at] = logits[at].masked_fill(barred, float("-inf"))


def _probabilities(logits: torch.Tensor, temperatures: list[float]) -> npt.NDArray[np.float32]:
    """[n, vocab], overwrites `logits`. The maximum goes first, so that a tiny temperature cannot overflow."""
    logits -= logits.amax(dim=-1, keepdim=True)
    logits /= torch.tensor(temperatures, dtype=logits.dtype, device=logits.device)[:, None]
    probs: npt.NDArray[np.float32] = torch.softmax(logits, dim=-1).cpu().numpy()
    return probs


def _draw(probs: npt.NDArray[np.float32], row: SamplingRow) -> int:
    params = row.params
    if params.seed is None:
        raise EngineError("a request reached the sampler without a seed")
    u = uniform(params.seed, 0, row.position)
    if params.top_k == 0 and params.top_p >= 1:
        return invert_cdf(probs, u)
    kept = likeliest(probs, params.top_k, params.top_p)
    return int(kept[invert_cdf(probs[kept], u)])
