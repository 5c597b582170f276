"""Filtering of tokens by top_k, top_p and min_p, and sampling among the rest with a uniform number, on the device.

Only the likeliest tokens are ordered. Where they are too few, the whole row is. On a GPU, a launch or two replace the
small operations after the order (`engine.sampling.triton_draws`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch

from engine.api.sampling_params import SamplingParams
from engine.device.pinned_copy import upload
from engine.sampling.kernel_choice import has_kernels
from engine.sampling.running_mass import ONE, RunningMass, share_of, to_integers

CANDIDATES: Final = 1024
"""Number of likeliest tokens that are ordered in each row."""
AT_ONCE: Final = 1 << 23
"""Number of masses of whole rows that a device keeps as integers at a time, 64 MiB."""
AT_ONCE_ON_CPU: Final = 1 << 20
"""The same on a CPU, where more of them leave its caches."""


@dataclass(frozen=True, slots=True)
class Filters:
    """Filters of R rows on a device, applied in this order.

    top_k: [R] int64; 0 means off.
    top_p: [R] float64; keeps the shortest run of likeliest tokens with that share of the mass left by top_k.
    min_p: [R] float32; of these, keeps tokens with at least that share of the likeliest token's probability.
    may_need_all: whether a row may keep more than CANDIDATES tokens.
    """

    top_k: torch.Tensor
    top_p: torch.Tensor
    min_p: torch.Tensor
    may_need_all: bool

    @classmethod
    def of(cls, params: Sequence[SamplingParams], device: torch.device) -> "Filters":
        """Copy the filters of `params` to `device`."""
        top_k = np.array([each.top_k for each in params], dtype=np.int64)
        top_p = np.array([each.top_p for each in params], dtype=np.float64)
        min_p = np.array([each.min_p for each in params], dtype=np.float32)
        may_need_all = bool(((top_k == 0) | (top_k > CANDIDATES)).any())
        return cls(upload(top_k, device), upload(top_p, device), upload(min_p, device), may_need_all)

    def draw(self, probs: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
        """Sample an id [R] int64 for each row of `probs` [R, vocab] float32, whose rows sum to 1.

        The kept tokens are ordered by likelihood, and by id among equals. The id at cumulative mass u [R] float64 is
        returned. At least one token per row is kept. The host waits for the device only if `may_need_all`.
        """
        vocab = probs.shape[1]
        drawn, is_short = self._among_candidates(probs, u)
        if self.may_need_all and vocab > CANDIDATES:
            short = [i for i, each in enumerate(is_short.tolist()) if each]
            if short:
                at = upload(np.array(short), probs.device)
                some, rows = self._rows(at), probs.index_select(0, at)
                exact, _ = some._among(rows.sort(dim=1, descending=True).values, rows, u.index_select(0, at))
                drawn.index_copy_(0, at, exact)
        return drawn

    def _among_candidates(self, probs: torch.Tensor, u: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Sample among the likeliest tokens, and return the ids and whether the row keeps more tokens than those."""
        ordered, names = probs.topk(min(CANDIDATES, probs.shape[1]), dim=1)
        if has_kernels(probs):
            from engine.sampling import triton_draws

            return triton_draws.draw_candidates(probs, ordered, names, (self.top_k, self.top_p, self.min_p), u)
        return self._among(ordered, probs, u)

    def _rows(self, at: torch.Tensor) -> "Filters":
        top_k, top_p, min_p = (each.index_select(0, at) for each in (self.top_k, self.top_p, self.min_p))
        return Filters(top_k, top_p, min_p, self.may_need_all)

    def _among(self, ordered: torch.Tensor, probs: torch.Tensor, u: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Sample an id for each row, and return the ids and whether the row keeps more tokens than are given.

        ordered: [R, n], the n largest of `probs` [R, vocab] in descending order.
        """
        size = ordered.shape[1]
        masses = to_integers(ordered)
        running = masses.cumsum(dim=1)
        most = torch.where(self.top_k > 0, self.top_k.clamp(max=size), size)
        mass = running.gather(1, most[:, None] - 1)[:, 0].masked_fill(self.top_k == 0, int(ONE))
        enough = (self.top_p * mass.double()).ceil().long()
        heads = (running < enough[:, None]).sum(dim=1) + 1
        kept = torch.where(self.top_p < 1, torch.minimum(heads, most), most)
        likely = (ordered >= self.min_p[:, None] * ordered[:, :1]).sum(dim=1).clamp(min=1)
        kept = torch.where(self.min_p > 0, torch.minimum(kept, likely), kept)
        kept = torch.minimum(kept, (masses > 0).sum(dim=1)).clamp(min=1)
        target = share_of(running.gather(1, kept[:, None] - 1)[:, 0], u)
        place = (running <= target[:, None]).sum(dim=1, keepdim=True).clamp(max=size - 1)
        likelihood = ordered.gather(1, place)
        # Equal tokens may continue past the given ones, and their order is arbitrary: count them in the row itself.
        rank = place[:, 0] - (ordered > likelihood).sum(dim=1)
        drawn = RunningMass(probs == likelihood).place(rank)
        # The mass of more than `size` tokens is unknown, and with it the share of top_p.
        is_beyond = (self.top_k > size) | (running[:, -1] < enough)
        return drawn, is_beyond & ((likely == size) | ((self.top_k > size) & (self.top_p < 1)))


def draw_by_id(probs: torch.Tensor, min_p: torch.Tensor | None, u: torch.Tensor) -> torch.Tensor:
    """Sample an id [R] int64 for each row of `probs` [R, vocab] float32. Tokens are in the order of their ids.

    min_p: [R] float32, keeps tokens with at least that share of the likeliest token's probability; None keeps all.
    u: [R] float64, the share of the kept mass at which the id is.
    """
    if has_kernels(probs):
        from engine.sampling import triton_draws

        return triton_draws.draw_by_id(probs, min_p, u)
    at_once = max((AT_ONCE_ON_CPU if probs.is_cpu else AT_ONCE) // probs.shape[1], 1)
    drawn = []
    for first in range(0, len(probs), at_once):
        some = probs[first : first + at_once]
        if min_p is not None:
            least = min_p[first : first + at_once, None] * some.amax(dim=1, keepdim=True)
            some = some.masked_fill(some < least, 0)
        running = RunningMass(to_integers(some))
        drawn.append(running.place(share_of(running.total, u[first : first + at_once])))
    return torch.cat(drawn)
