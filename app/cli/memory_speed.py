"""Measurement of the memory's read bandwidth, which bounds the speed of an answer on a CPU."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import numpy as np

_NBYTES: Final = 512_000_000
"""Bytes that one pass reads: more than the caches of most CPUs hold."""
_PASSES: Final = 4


def read_bandwidth(threads: int, available: int) -> float:
    """Measure how many bytes per second `threads` read together, by the fastest of a few passes.

    available: free bytes, of which at most an eighth is used.
    """
    # Ones, since all untouched pages of zeros are the same page.
    words = np.ones(min(_NBYTES, available // 8) // 8, dtype=np.int64)
    parts = np.array_split(words, threads)
    with ThreadPoolExecutor(threads) as pool:
        return max(words.nbytes / _seconds(pool, parts) for _ in range(_PASSES))


def _seconds(pool: ThreadPoolExecutor, parts: list["np.typing.NDArray[np.int64]"]) -> float:
    began = time.perf_counter()
    # NumPy computes a maximum without the interpreter's lock, and faster than the memory delivers.
    list(pool.map(np.max, parts))
    return time.perf_counter() - began
