"""Chooses one token per row of logits. A row's choice depends on that row alone, never on the rest of the batch."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import torch

from engine.errors import EngineError
from engine.sampling.inverse_cdf import invert_cdf
from engine.sampling.philox import uniform
from engine.sampling_params import SamplingParams

NUCLEUS_CANDIDATES: Final = 1024
"""top_p looks at so many of the likeliest tokens first, and sorts the whole row only if their mass is not enough."""


@dataclass(frozen=True, slots=True)
class SamplingRow:
    """position: index of the new token in the whole sequence; produced: tokens that the request has made so far."""

    params: SamplingParams
    position: int
    produced: int


class Sampler:
    """Stateless. Order: min_tokens mask, temperature, top_k, top_p, then one uniform number through the inverse CDF."""

    def sample(self, logits: torch.Tensor, rows: Sequence[SamplingRow]) -> list[int]:
        """logits [R, vocab] float32, overwritten; one token id per row. Greedy rows take the lowest id on ties."""
        self._mask_stop_tokens(logits, rows)
        chosen = logits.argmax(dim=-1).tolist()
        drawn = [i for i, row in enumerate(rows) if row.params.temperature > 0]
        if drawn:
            probs = self._probabilities(logits, [rows[i].params.temperature for i in drawn], drawn)
            for i, token in zip(drawn, self._draw(probs, [rows[i] for i in drawn]), strict=True):
                chosen[i] = token
        return [int(token) for token in chosen]

    def _mask_stop_tokens(self, logits: torch.Tensor, rows: Sequence[SamplingRow]) -> None:
        for i, row in enumerate(rows):
            if row.produced < row.params.min_tokens and row.params.stop_token_ids:
                logits[i, list(row.params.stop_token_ids)] = float("-inf")

    def _probabilities(self, logits: torch.Tensor, temperatures: list[float], drawn: list[int]) -> torch.Tensor:
        """[n, vocab] float32 on the CPU. The maximum goes first, so that a tiny temperature cannot overflow."""
        picked = logits if len(drawn) == len(logits) else logits[drawn]
        picked = picked - picked.amax(dim=-1, keepdim=True)
        picked /= torch.tensor(temperatures, dtype=picked.dtype, device=picked.device)[:, None]
        return torch.softmax(picked, dim=-1).cpu()

    def _draw(self, probs: torch.Tensor, rows: list[SamplingRow]) -> list[int]:
        """Rows are batched by the number of candidates that they need: a function of the row's own parameters."""
        vocab = probs.shape[1]
        by_candidates: dict[int, list[int]] = defaultdict(list)
        for i, row in enumerate(rows):
            by_candidates[_candidates(row.params, vocab)].append(i)
        tokens = [0] * len(rows)
        for candidates, members in by_candidates.items():
            picked = probs if len(members) == len(rows) else probs[members]
            if candidates == vocab:
                drawn = _draw_from_all(picked, [rows[i] for i in members])
            else:
                drawn = _draw_from_top(picked, candidates, [rows[i] for i in members])
            for i, token in zip(members, drawn, strict=True):
                tokens[i] = token
        return tokens


def _candidates(params: SamplingParams, vocab: int) -> int:
    """How many of the likeliest tokens to look at first; the whole vocabulary when nothing is cut off."""
    if 0 < params.top_k < vocab:
        return params.top_k
    return min(NUCLEUS_CANDIDATES, vocab - 1) if params.top_p < 1 else vocab


def _draw_from_all(probs: torch.Tensor, rows: list[SamplingRow]) -> list[int]:
    """No sort: the inverse CDF in the order of ids, summed in float64."""
    cumulative = probs.cumsum(dim=-1, dtype=torch.float64).numpy()
    return [invert_cdf(line, _uniform(row)) for line, row in zip(cumulative, rows, strict=True)]


def _draw_from_top(probs: torch.Tensor, candidates: int, rows: list[SamplingRow]) -> list[int]:
    values, ids = torch.topk(probs, candidates, dim=-1)
    cumulative = values.cumsum(dim=-1, dtype=torch.float64).numpy()
    tokens: list[int] = []
    for i, row in enumerate(rows):
        line, line_ids = cumulative[i], ids[i]
        if row.params.top_k == 0 and line[-1] < row.params.top_p:
            values_sorted, line_ids = torch.sort(probs[i], descending=True, stable=True)
            line = values_sorted.cumsum(dim=-1, dtype=torch.float64).numpy()
        tokens.append(int(line_ids[invert_cdf(_nucleus(line, row.params), _uniform(row))]))
    return tokens


def _nucleus(cumulative: npt.NDArray[np.float64], params: SamplingParams) -> npt.NDArray[np.float64]:
    """The shortest head whose mass reaches top_p of the whole (after top_k: of what top_k kept); at least one token."""
    if params.top_p >= 1:
        return cumulative
    mass = cumulative[-1] if params.top_k > 0 else 1.0
    return cumulative[: int(np.searchsorted(cumulative, params.top_p * mass)) + 1]


def _uniform(row: SamplingRow) -> float:
    if row.params.seed is None:
        raise EngineError("a request reached the sampler without a seed")
    return uniform(row.params.seed, 0, row.position)
