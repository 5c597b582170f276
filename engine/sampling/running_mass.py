"""Running sums over rows of masses on a device. The host reads a sum per stretch, and then single stretches."""

from typing import Final

import numpy as np
import numpy.typing as npt
import torch

STRETCH: Final = 128
"""Number of masses per sum. Many vocabularies are multiples of 128 ids, so that no row is copied to be padded."""

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class RunningMass:
    """Running sums of `masses` [R, n] float32, none of them negative and each row with a sum above 0.

    total: [R], the sum of each row.

    Sums over stretches are in float32 on the device. All others are in float64 on the host.
    """

    def __init__(self, masses: torch.Tensor) -> None:
        short = -masses.shape[1] % STRETCH
        padded = torch.nn.functional.pad(masses, (0, short)) if short else masses
        self._stretches = padded.view(len(masses), -1, STRETCH)
        self._ends: Floats = np.cumsum(self._stretches.sum(dim=2).cpu().numpy(), axis=1, dtype=np.float64)
        self._rows = np.arange(len(masses))
        self.total: Floats = self._ends[:, -1]

    def up_to(self, count: Ints) -> Floats:
        """Return the sum of the first `count` [R] masses of each row. Each count is above 0."""
        at = (count - 1) // STRETCH
        inside: Floats = self._inside(at)[self._rows, (count - 1) % STRETCH]
        return self._before(at) + inside

    def place(self, target: Floats) -> Ints:
        """Return for each row the first index whose running sum exceeds `target` [R].

        An index of mass 0 is never returned. If no sum exceeds the target, return the last index with a mass.
        """
        # The last stretch with a mass is the first one that reaches the total.
        at = np.minimum((self._ends <= target[:, None]).sum(axis=1), (self._ends < self.total[:, None]).sum(axis=1))
        inside = self._inside(at)
        index = (inside <= (target - self._before(at))[:, None]).sum(axis=1)
        # Rounding may differ between the two sums of a stretch. A target beyond the stretch belongs to its last mass.
        last = (inside < inside[:, -1:]).sum(axis=1)
        places: Ints = at * STRETCH + np.minimum(index, last)
        return places

    def _before(self, at: Ints) -> Floats:
        return np.where(at > 0, self._ends[self._rows, at - 1], 0.0)

    def _inside(self, at: Ints) -> Floats:
        """Return the running sums inside stretch at[i] of each row i, [R, STRETCH]."""
        places = torch.from_numpy(at).to(self._stretches.device)[:, None, None].expand(-1, 1, STRETCH)
        return np.cumsum(self._stretches.gather(1, places)[:, 0].cpu().numpy(), axis=1, dtype=np.float64)
