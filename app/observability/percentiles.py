"""Percentiles of short samples."""

import math
from collections.abc import Sequence


def percentile(values: Sequence[float], q: float) -> float:
    """Return the q-th percentile (0 to 100) with linear interpolation, numpy's default. Raise ValueError if empty."""
    if not values:
        raise ValueError("a percentile of no values")
    ordered = sorted(values)
    rank = (len(ordered) - 1) * q / 100
    low, high = math.floor(rank), math.ceil(rank)
    return ordered[low] + (ordered[high] - ordered[low]) * (rank - low)
