"""Random numbers of rows, by Philox4x32-10: a pure function of a key and a counter, so a run can continue at any token.

Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.uint64]

_HALF: Final = np.uint64(32)
_MASK: Final = np.uint64(0xFFFFFFFF)
_MULTIPLIERS: Final = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_WEYL: Final = (np.uint64(0x9E3779B9), np.uint64(0xBB67AE85))
_ROUNDS: Final = 10


def philox4x32(counter: tuple[Array, Array, Array, Array], key: tuple[Array, Array]) -> tuple[Array, ...]:
    """Generate four 32-bit words from a 128-bit counter and a 64-bit key, given as 32-bit words, lowest first.

    Every word is an array [n] of uint64 below 2**32, so that n numbers are generated at once.
    """
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(_ROUNDS):
        first = _MULTIPLIERS[0] * c0
        second = _MULTIPLIERS[1] * c2
        c0, c1, c2, c3 = (second >> _HALF) ^ c1 ^ k0, second & _MASK, (first >> _HALF) ^ c3 ^ k1, first & _MASK
        k0 = (k0 + _WEYL[0]) & _MASK
        k1 = (k1 + _WEYL[1]) & _MASK
    return c0, c1, c2, c3


def uniforms(seeds: Sequence[int], choices: Sequence[int], positions: Sequence[int]) -> npt.NDArray[np.float64]:
    """Generate [n] doubles in [0, 1) with 53 random bits, one for each seed, answer number and token position.

    seeds: the low 64 bits count.
    choices, positions: the low 32 bits count.
    """
    keys = np.array([seed & 0xFFFFFFFFFFFFFFFF for seed in seeds], dtype=np.uint64)
    counters = np.array([positions, choices], dtype=np.uint64) & _MASK
    zero = np.zeros(len(keys), dtype=np.uint64)
    words = philox4x32((counters[0], counters[1], zero, zero), (keys & _MASK, keys >> _HALF))
    bits: Array = (words[0] << np.uint64(21)) | (words[1] >> np.uint64(11))
    return bits.astype(np.float64) * 2.0**-53


AHEAD: Final = 16
"""Number of steps for which numbers are generated at once."""


class RowNumbers:
    """Random numbers of rows, each with a seed and the number of its answer.

    The first step gets its own numbers only, so that a batch that changes at every step generates no others.
    """

    def __init__(self, seeds: Sequence[int], choices: Sequence[int]) -> None:
        self._seeds, self._choices = list(seeds), list(choices)
        self._next: list[int] = []
        self._known: list[npt.NDArray[np.float64]] = []

    def at(self, positions: Sequence[int]) -> npt.NDArray[np.float64]:
        """Return the numbers [n] at the `positions` of the rows. The array does not change afterwards."""
        continues = list(positions) == self._next
        if not continues or not self._known:
            self._known = self._generate(positions, AHEAD if continues else 1)
        self._next = [each + 1 for each in positions]
        return self._known.pop()

    def _generate(self, positions: Sequence[int], steps: int) -> list[npt.NDArray[np.float64]]:
        """Return the numbers of `steps` steps, the last one first."""
        there = [each + step for step in range(steps) for each in positions]
        return list(uniforms(self._seeds * steps, self._choices * steps, there).reshape(steps, -1)[::-1])
