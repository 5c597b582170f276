"""The definition of a drawn token in float64, and settings and rows of logits to compare samplers with it."""

import numpy as np
import numpy.typing as npt

from engine.sampling.philox import uniforms
from engine.sampling.sampler import SamplingRow
from engine.sampling_params import SamplingParams

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
    if params.top_p < 1:
        enough = np.cumsum(masses) >= params.top_p * masses.sum()
        masses[int(np.argmax(enough)) + 1 :] = 0
    masses[masses < params.min_p] = 0
    reached = np.cumsum(masses) / masses.sum()
    (u,) = uniforms([params.seed or 0], [params.choice], [row.position])
    place = int(np.flatnonzero(order == token)[0])
    assert weights[token] >= params.min_p
    assert (reached[place - 1] if place else 0.0) - ROUNDING <= u <= reached[place] + ROUNDING
