"""What a model knows of the others that compute it together: its place among them, and sums over all of them."""

from typing import Protocol

import torch


class RankGroup(Protocol):
    """The processes that hold a part of one model each. All of them make the same calls in the same order."""

    rank: int
    size: int

    def sum(self, x: torch.Tensor) -> torch.Tensor:
        """x of all ranks added up, the same bits on every rank; x may be overwritten."""

    def agree(self, token_ids: list[int]) -> list[int]:
        """What rank 0 gave; the others give a list of the same length."""


class Alone:
    """One process that holds all of it."""

    rank = 0
    size = 1

    def sum(self, x: torch.Tensor) -> torch.Tensor:
        """See RankGroup."""
        return x

    def agree(self, token_ids: list[int]) -> list[int]:
        """See RankGroup."""
        return token_ids


ALONE = Alone()
