"""A model's interface to the ranks of its tensor-parallel group: its own rank, and sums over all ranks."""

from typing import Protocol

import torch


class RankGroup(Protocol):
    """A group of processes that each hold a part of one model. All ranks make the same calls in the same order."""

    rank: int
    size: int

    def sum(self, x: torch.Tensor) -> torch.Tensor:
        """Return the sum of x over all ranks, with the same bits on every rank. x may be overwritten."""

    def agree(self, token_ids: torch.Tensor) -> torch.Tensor:
        """Return the token ids that rank 0 passed. The other ranks must pass as many, which may be overwritten."""


class SingleRank:
    """A group of one process that holds the whole model."""

    rank = 0
    size = 1

    def sum(self, x: torch.Tensor) -> torch.Tensor:
        """See RankGroup."""
        return x

    def agree(self, token_ids: torch.Tensor) -> torch.Tensor:
        """See RankGroup."""
        return token_ids


SINGLE_RANK = SingleRank()
