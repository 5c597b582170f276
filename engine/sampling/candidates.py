"""Filtering of tokens by top_k, top_p and min_p, and sampling among the rest with a uniform number."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from engine.sampling.inverse_cdf import invert_cdf

HEAD: Final = 1024
"""Number of likeliest tokens that top_p sums first. The whole row is summed only if their mass is not enough."""

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Filters:
    """Filters of R rows, applied in this order.

    top_k: [R]; 0 means off.
    top_p: [R]; keeps the shortest run of likeliest tokens with that share of the mass left by top_k.
    min_p: [R]; of these, keeps tokens with at least that share of the likeliest token's probability.
    """

    top_k: npt.NDArray[np.int64]
    top_p: npt.NDArray[np.float64]
    min_p: npt.NDArray[np.float64]

    def draw(self, probs: Floats, u: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """Sample an id for each row of `probs` [R, vocab], whose rows sum to 1.

        The kept tokens are ordered by likelihood, and by id among equals. The id at cumulative mass u [R] is returned.
        At least one token per row is kept.
        """
        ordered = np.sort(probs, axis=1)[:, ::-1]
        kept = self._num_kept(ordered)
        among = np.where(np.arange(int(kept.max())) < kept[:, None], ordered[:, : int(kept.max())], np.float32(0))
        place = invert_cdf(among, u)
        mass = ordered[np.arange(len(place)), place]
        # Rank among the tokens of equal mass, by id.
        rank = place - (ordered > mass[:, None]).sum(axis=1)
        equal = probs == mass[:, None]
        drawn: npt.NDArray[np.int64] = np.argmax(np.cumsum(equal, axis=1) == rank[:, None] + 1, axis=1)
        return drawn

    def _num_kept(self, ordered: Floats) -> npt.NDArray[np.int64]:
        """Return how many leading tokens of each row are kept, at least 1. `ordered` [R, vocab]: likeliest first."""
        vocab = ordered.shape[1]
        most = np.where(self.top_k > 0, np.minimum(self.top_k, vocab), vocab)
        kept = np.where(self.top_p < 1, self._heads(ordered, most), most)
        likely = (ordered >= self.min_p[:, None].astype(np.float32) * ordered[:, :1]).sum(axis=1)
        counts: npt.NDArray[np.int64] = np.clip(kept, 1, np.where(self.min_p > 0, np.maximum(likely, 1), vocab))
        return counts

    def _heads(self, ordered: Floats, most: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return how many of each row's first `most` tokens reach top_p of their mass.

        All of them are kept if rounding leaves the sum below that.
        """
        each, vocab = np.arange(len(ordered)), ordered.shape[1]
        limited = self.top_k > 0
        widest = int(most[limited].max()) if limited.any() else 0
        for size in sorted({min(max(HEAD, widest), vocab), vocab}):
            cumulative = np.cumsum(ordered[:, :size], axis=1, dtype=np.float64)
            target = self.top_p * np.where(limited, cumulative[each, np.minimum(most, size) - 1], 1.0)
            reached = cumulative[:, -1] >= target
            if reached.all():
                break
        heads: npt.NDArray[np.int64] = np.minimum((cumulative < target[:, None]).sum(axis=1) + 1, most)
        return heads
