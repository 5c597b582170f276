"""Inverse transform sampling: from a uniform number to an index, by cumulative mass."""

from typing import Final

import numpy as np
import numpy.typing as npt

STRETCH: Final = 256


def invert_cdf(masses: npt.NDArray[np.float32], u: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Return for each row of masses [R, n] the index i at which the cumulative mass exceeds u times the row's sum.

    In other words, masses[:i].sum() <= u * masses.sum() < masses[:i + 1].sum(), with u [R] in [0, 1 - 2**-53]. An index
    of mass 0 is never returned.

    Sums are in float64: first over whole stretches of STRETCH masses, then inside the stretch that is hit. This is much
    faster than a running sum over a vocabulary.
    """
    rows, size = masses.shape
    stretches = np.zeros((rows, -(-size // STRETCH), STRETCH), dtype=np.float32)
    stretches.reshape(rows, -1)[:, :size] = masses
    cumulative = np.cumsum(stretches.sum(axis=2, dtype=np.float64), axis=1)
    # u takes at least half a unit in the last place off the total, so the product rounds below it and a stretch is hit.
    target = u * cumulative[:, -1]
    hit = (cumulative <= target[:, None]).sum(axis=1)
    each = np.arange(rows)
    before = np.where(hit > 0, cumulative[each, hit - 1], 0.0)
    inside = stretches[each, hit]
    index = (np.cumsum(inside, axis=1, dtype=np.float64) <= (target - before)[:, None]).sum(axis=1)
    # Rounding may differ between the two sums of a stretch. A target beyond the stretch belongs to its last mass.
    last = STRETCH - 1 - np.argmax(inside[:, ::-1] > 0, axis=1)
    found: npt.NDArray[np.int64] = hit * STRETCH + np.minimum(index, last)
    return found
