"""From a uniform number to an index, by cumulative mass."""

from typing import Final

import numpy as np
import numpy.typing as npt

STRETCH: Final = 256


def invert_cdf(masses: npt.NDArray[np.float32], u: float) -> int:
    """Index i with masses[:i].sum() <= u * masses.sum() < masses[:i + 1].sum(), for u in [0, 1 - 2**-53].

    Never an index of mass 0. Sums are in float64: first over whole stretches, then inside the one that is hit, which
    is ten times faster than a running sum over a vocabulary.
    """
    cumulative = np.cumsum(np.add.reduceat(masses, np.arange(0, len(masses), STRETCH), dtype=np.float64))
    # u takes at least half a unit in the last place off the total: the product rounds to less, so a stretch is hit.
    target = u * cumulative[-1]
    hit = int(np.searchsorted(cumulative, target, side="right"))
    before = cumulative[hit - 1] if hit else 0.0
    inside = masses[hit * STRETCH : (hit + 1) * STRETCH]
    index = int(np.searchsorted(np.cumsum(inside, dtype=np.float64), target - before, side="right"))
    # The two sums of one stretch may round apart: what would fall behind it belongs to its last mass.
    return hit * STRETCH + min(index, int(np.flatnonzero(inside)[-1]))
