"""Filtering of tokens by top_k, top_p and min_p, and sampling among the rest with a uniform number.

The device finds the likeliest tokens, and the host reads only those. Where they are too few, the device sorts the row.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import torch

from engine.sampling.running_mass import RunningMass

CANDIDATES: Final = 1024
"""Number of likeliest tokens that the host reads of each row."""

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Filters:
    """Filters of R rows, applied in this order.

    top_k: [R]; 0 means off.
    top_p: [R]; keeps the shortest run of likeliest tokens with that share of the mass left by top_k.
    min_p: [R]; of these, keeps tokens with at least that share of the likeliest token's probability.
    """

    top_k: Ints
    top_p: Floats
    min_p: Floats

    def draw(self, probs: torch.Tensor, u: Floats) -> Ints:
        """Sample an id for each row of `probs` [R, vocab], whose rows sum to 1.

        The kept tokens are ordered by likelihood, and by id among equals. The id at cumulative mass u [R] is returned.
        At least one token per row is kept.
        """
        drawn = self._among_likeliest(probs, u)
        if len(rest := np.flatnonzero(drawn < 0)):
            some = Filters(self.top_k[rest], self.top_p[rest], self.min_p[rest])
            drawn[rest] = some._among_all(probs[rest.tolist()], u[rest])
        return drawn

    def _among_likeliest(self, probs: torch.Tensor, u: Floats) -> Ints:
        """Sample an id for each row from its CANDIDATES likeliest tokens, or return -1 where more tokens are needed."""
        found = probs.topk(min(CANDIDATES, probs.shape[1]), dim=1)
        values, ids = found.values.cpu().numpy(), found.indices.cpu().numpy()
        rows, size, vocab = np.arange(len(values)), values.shape[1], probs.shape[1]
        most = np.where(self.top_k > 0, np.minimum(self.top_k, size), size)
        running = np.cumsum(values, axis=1, dtype=np.float64)
        mass = np.where(self.top_k > 0, running[rows, most - 1], 1.0)
        heads = (running < (self.top_p * mass)[:, None]).sum(axis=1) + 1
        kept = np.where(self.top_p < 1, np.minimum(heads, most), most)
        likely = (values >= self.min_p[:, None].astype(np.float32) * values[:, :1]).sum(axis=1)
        kept = np.clip(kept, 1, np.where(self.min_p > 0, np.maximum(likely, 1), size))
        kept = np.maximum(np.minimum(kept, (values > 0).sum(axis=1)), 1)
        place = (running <= (u * running[rows, kept - 1])[:, None]).sum(axis=1)
        # The order of topk among equals is arbitrary: rank the ids of the same probability.
        equal = values == values[rows, place][:, None]
        ranked = np.sort(np.where(equal, ids, vocab), axis=1)
        drawn: Ints = ranked[rows, place - np.argmax(equal, axis=1)]
        # Tokens as unlikely as the last candidate may be missing.
        known = size if size == vocab else (values > values[:, -1:]).sum(axis=1)
        return np.where((kept <= known) & (np.minimum(self.top_k, vocab) <= size), drawn, -1)

    def _among_all(self, probs: torch.Tensor, u: Floats) -> Ints:
        """Sample an id for each row from all tokens, sorted on the device."""
        ordered, ids = probs.sort(dim=1, descending=True, stable=True)
        vocab = probs.shape[1]
        running = RunningMass(ordered)
        most = np.where(self.top_k > 0, np.minimum(self.top_k, vocab), vocab)
        mass = np.where(self.top_k > 0, running.up_to(most), 1.0)
        # The first sum that reaches the target exceeds the number before it.
        heads = running.place(np.nextafter(self.top_p * mass, 0)) + 1
        kept = np.where(self.top_p < 1, np.minimum(heads, most), most)
        least = torch.from_numpy(self.min_p.astype(np.float32)).to(probs.device)[:, None] * ordered[:, :1]
        likely = (ordered >= least).sum(dim=1).cpu().numpy()
        kept = np.clip(kept, 1, np.where(self.min_p > 0, np.maximum(likely, 1), vocab))
        places = torch.from_numpy(running.place(u * running.up_to(kept))).to(ids.device)
        drawn: Ints = ids.gather(1, places[:, None])[:, 0].cpu().numpy()
        return drawn
