"""Running sums over rows of masses, on their device.

Masses are integers, so every sum is exact: neither the order of additions nor the device changes a token.
"""

from typing import Final

import torch

STRETCH: Final = 128
"""Number of masses per sum. Many vocabularies are multiples of 128 ids, so that no row is copied to be padded."""
ONE: Final = 2.0**52
"""Integer mass of probability 1. All float32 from 2**-29 on are exact multiples of 1 / ONE."""


def to_integers(probs: torch.Tensor) -> torch.Tensor:
    """Return probabilities in float32 as masses in int64, rounded towards 0."""
    return (probs * ONE).long()


def share_of(mass: torch.Tensor, share: torch.Tensor) -> torch.Tensor:
    """Return the integer part of `share` [R], float64 in [0, 1), of each `mass` [R], at most mass - 1."""
    return torch.minimum((share * mass.double()).long(), mass - 1)


class RunningMass:
    """Running sums of `masses` [R, n], integers or bools, none of them negative.

    total: [R] int64, the sum of each row.
    """

    def __init__(self, masses: torch.Tensor) -> None:
        self._size = masses.shape[1]
        short = -self._size % STRETCH
        padded = torch.nn.functional.pad(masses, (0, short)) if short else masses
        self._stretches = padded.view(len(masses), -1, STRETCH)
        # A CPU adds bools into narrow integers several times as fast.
        narrow = torch.int32 if masses.dtype == torch.bool else torch.int64
        self._sums = self._stretches.sum(dim=2, dtype=narrow)
        self._ends = self._sums.cumsum(dim=1)
        self.total = self._ends[:, -1]

    def place(self, target: torch.Tensor) -> torch.Tensor:
        """Return for each row the first index whose running sum exceeds `target` [R] int64.

        An index of mass 0 is never returned for a target from 0 to total - 1. Any other target gives some index.
        """
        target = target[:, None]
        at = (self._ends <= target).sum(dim=1, keepdim=True).clamp(max=self._sums.shape[1] - 1)
        before = self._ends.gather(1, at) - self._sums.gather(1, at)
        inside = self._stretches.gather(1, at[:, :, None].expand(-1, 1, STRETCH))[:, 0].cumsum(dim=1)
        index = (inside <= target - before).sum(dim=1, keepdim=True)
        return (at * STRETCH + index).clamp(max=self._size - 1)[:, 0]
