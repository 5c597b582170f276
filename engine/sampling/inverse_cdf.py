"""From a uniform number to an index, by cumulative mass."""

import numpy as np
import numpy.typing as npt


def invert_cdf(cumulative: npt.NDArray[np.float64], u: float) -> int:
    """Index of the first cumulative mass above u * total, for u in [0, 1 - 2**-53]; never an index of mass 0.

    There is one: u takes at least half a unit in the last place off the total, so the product rounds to less than it.
    """
    return int(np.searchsorted(cumulative, u * cumulative[-1], side="right"))
