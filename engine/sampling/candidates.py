"""Which tokens top_k, top_p and min_p keep, and which of them a uniform number draws."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from engine.sampling.inverse_cdf import invert_cdf

HEAD: Final = 1024
"""top_p adds up so many of the likeliest tokens first, and all of them only if their mass is not enough."""

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Filters:
    """Of R rows. top_k: 0 means off. top_p: the shortest head of the order of likelihood that holds that share of the
    mass, after top_k of what top_k kept. min_p: of these, what has at least that share of the likeliest one's."""

    top_k: npt.NDArray[np.int64]
    top_p: npt.NDArray[np.float64]
    min_p: npt.NDArray[np.float64]

    def draw(self, probs: Floats, u: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """An id for each row of probs [R, vocab], which sum to 1: among those that are kept, the likeliest first and of
        equals the lowest id first, the one at mass u [R]. At least one is kept."""
        ordered = np.sort(probs, axis=1)[:, ::-1]
        kept = self._num_kept(ordered)
        among = np.where(np.arange(int(kept.max())) < kept[:, None], ordered[:, : int(kept.max())], np.float32(0))
        place = invert_cdf(among, u)
        mass = ordered[np.arange(len(place)), place]
        # Its number among those of the same mass, by id.
        rank = place - (ordered > mass[:, None]).sum(axis=1)
        equal = probs == mass[:, None]
        drawn: npt.NDArray[np.int64] = np.argmax(np.cumsum(equal, axis=1) == rank[:, None] + 1, axis=1)
        return drawn

    def _num_kept(self, ordered: Floats) -> npt.NDArray[np.int64]:
        """ordered [R, vocab]: the likeliest first. How many from the start of each row; at least 1."""
        vocab = ordered.shape[1]
        most = np.where(self.top_k > 0, np.minimum(self.top_k, vocab), vocab)
        kept = np.where(self.top_p < 1, self._heads(ordered, most), most)
        likely = (ordered >= self.min_p[:, None].astype(np.float32) * ordered[:, :1]).sum(axis=1)
        counts: npt.NDArray[np.int64] = np.clip(kept, 1, np.where(self.min_p > 0, np.maximum(likely, 1), vocab))
        return counts

    def _heads(self, ordered: Floats, most: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """How many of the first `most` of each row reach top_p of their mass; all if rounding keeps the sum below."""
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
