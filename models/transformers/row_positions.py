"""Positions for networks that derive them from the length of a cache, as Llama 4 does for the scale of its queries."""

from typing import Final

import torch

FROM_CACHE: Final = frozenset({"llama4_text"})
"""Values of `model_type` of networks that count rows, starting at the length of the cache."""


class PositionsAsCache:
    """Stand-in for a cache that is as long, for each row, as the difference between its position and its place."""

    def __init__(self, positions: torch.Tensor) -> None:
        """positions: [T] int64, of the rows of a flat batch."""
        self._lengths = positions - torch.arange(len(positions), device=positions.device)

    def get_seq_length(self, layer_idx: int = 0) -> torch.Tensor:  # noqa: ARG002
        """Return the lengths [T], to which the network adds the places of the rows."""
        return self._lengths

    def update(
        self,
        key_states: torch.Tensor,
        value_states: torch.Tensor,
        layer_idx: int,  # noqa: ARG002
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the keys and values of the batch alone."""
        return key_states, value_states
