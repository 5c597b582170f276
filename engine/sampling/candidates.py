"""Which tokens top_k and top_p keep."""

from typing import Final

import numpy as np
import numpy.typing as npt

HEAD: Final = 1024
"""top_p adds up so many of the likeliest tokens first, and all of them only if their mass is not enough."""


def likeliest(probs: npt.NDArray[np.float32], top_k: int, top_p: float) -> npt.NDArray[np.int64]:
    """Ids that are kept of probs [vocab], which sums to 1, the likeliest first; at least one. Of equals the lowest id.

    top_k: 0 means off. top_p: the shortest head of the order of likelihood that holds that share of the mass, after
    top_k of what top_k kept.
    """
    ordered = np.sort(probs)[::-1]
    mass = 1.0
    if top_k > 0:
        ordered = ordered[:top_k]
        mass = float(ordered.sum(dtype=np.float64))
    count = _head_with(ordered, top_p * mass) if top_p < 1 else len(ordered)
    smallest = ordered[count - 1]
    likelier = np.flatnonzero(probs > smallest)
    equal = np.flatnonzero(probs == smallest)[: count - len(likelier)]
    return np.concatenate((likelier[np.argsort(-probs[likelier], kind="stable")], equal))


def _head_with(ordered: npt.NDArray[np.float32], mass: float) -> int:
    """How many of `ordered`, from its start, reach `mass`; all of them if rounding keeps the sum below it."""
    for size in (HEAD, len(ordered)):
        cumulative = np.cumsum(ordered[:size], dtype=np.float64)
        if cumulative[-1] >= mass:
            return int(np.searchsorted(cumulative, mass)) + 1
    return len(ordered)
