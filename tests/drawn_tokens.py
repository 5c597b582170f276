"""The definition of a drawn token in float64, and settings and rows of logits to compare samplers with it."""

import numpy as np
import numpy.typing as npt

from engine.api.sampling_params import SamplingParams
from engine.sampling.random_rows import uniforms
from engine.sampling.sampler import SamplingRow

SPREADS = {"peaked": 4.0, "flat": 1.0, "nearly equal": 0.02, "equal": 0.0}
WAYS = {
    "all tokens": SamplingParams(),
    "min_p": SamplingParams(min_p=0.01),
    "top_k": SamplingParams(top_k=40),
    "top_k of many": SamplingParams(temperature=2.0, top_k=5000, top_p=0.9),
    "top_p": SamplingParams(temperature=0.7, top_p=0.9),
    "top_p of nearly all": SamplingParams(temperature=2.0, top_p=0.9999),
    "top_p of one": SamplingParams(top_p=1e-6),
    "top_p and min_p": SamplingParams(temperature=1.5, top_p=0.99, min_p=0.02),
    "top_k, top_p and min_p": SamplingParams(top_k=300, top_p=0.75, min_p=0.1),
}
ROUNDING = 2e-5
"""Share of a row's mass by which a sampler's float32 weights may move a boundary: a token or two of a flat row."""

SAME_WEIGHT = 1.2e-7
"""Relative difference of weights that are the same in float32, or next to each other."""


def assert_drawn(logits: npt.NDArray[np.float64], row: SamplingRow, token: int) -> None:
    """Assert that `token` is the one at which the mass of the kept tokens, likeliest first, exceeds the random number.

    Tokens that are not kept have no mass. Without top_k and top_p, tokens are in the order of their ids.
    """
    params = row.params
    weights = np.exp((logits - logits.max()) / params.temperature)
    ordered = params.top_k > 0 or params.top_p < 1
    order = np.argsort(-logits, kind="stable") if ordered else np.arange(len(logits))
    masses = weights[order]
    if params.top_k:
        masses[params.top_k :] = 0
    (u,) = uniforms([params.seed or 0], [params.choice], [row.position])
    place = int(np.flatnonzero(order == token)[0])
    assert weights[token] >= params.min_p
    assert any(_is_drawn(masses, params.min_p, kept, place, u) for kept in _kept_by_top_p(masses, params.top_p))


def _kept_by_top_p(masses: npt.NDArray[np.float64], top_p: float) -> range:
    """Return how many tokens top_p may keep: several numbers where rounding decides about the last token."""
    if top_p >= 1:
        return range(len(masses), len(masses) + 1)
    reached = np.cumsum(masses) / masses.sum()
    fewest, most = (int(np.argmax(reached >= limit)) + 1 for limit in (top_p - ROUNDING, min(top_p + ROUNDING, 1.0)))
    return range(fewest, max(fewest, most) + 1)


def _is_drawn(masses: npt.NDArray[np.float64], min_p: float, kept: int, place: int, u: float) -> bool:
    """Return whether the number `u` draws the token at `place` from the first `kept` ones with at least `min_p`.

    Tokens next to it that have the same weight in float32, but another logit, may change places with it.
    """
    left = np.where(masses[:kept] >= min_p, masses[:kept], 0.0)
    if place >= kept:
        return False
    reached = np.cumsum(left) / left.sum()
    moves = (np.abs(left - left[place]) <= SAME_WEIGHT * left[place]) & (left != left[place])
    moves[place] = True
    first, last = np.flatnonzero(moves)[[0, -1]]
    return bool((reached[first - 1] if first else 0.0) - ROUNDING <= u <= reached[last] + ROUNDING)
