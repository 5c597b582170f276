"""Random numbers of rows that decode: for several steps at once, because the generator costs the same for many."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from engine.sampling.philox import uniforms

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
