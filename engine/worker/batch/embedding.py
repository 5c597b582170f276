"""Pooled final hidden states of the requests that ask for an embedding."""

import torch

from engine.api.sampling_params import Pooling


class HiddenSum:
    """Sum of the final hidden states of a prompt that count for its embedding, while its chunks are computed.

    Rows are added in the order of their positions to float64 values, so the division into chunks changes no bit.
    """

    def __init__(self, pooling: Pooling, num_tokens: int) -> None:
        """Make the sum of a prompt of `num_tokens` tokens."""
        self._num_tokens = num_tokens
        self._first = 0 if pooling == "mean" else num_tokens - 1
        self._total: torch.Tensor | None = None

    def rows(self, start: int, end: int) -> range:
        """Return which tokens of a chunk at positions [start, end) count, as indices in the chunk."""
        return range(min(max(self._first, start), end) - start, end - start)

    def is_complete(self, end: int) -> bool:
        """Return whether a chunk that ends before position `end` is the last one."""
        return end == self._num_tokens

    def total(self, width: int) -> torch.Tensor:
        """Return the sum, float64 [width] in host memory, for the caller to add to."""
        if self._total is None:
            self._total = torch.zeros(width, dtype=torch.float64)
        return self._total

    def add(self, hidden: torch.Tensor) -> None:
        """Add the rows that count of a chunk, [R, width] in host memory."""
        total = self.total(hidden.shape[1])
        for row in hidden:
            total += row

    def embedding(self) -> bytes:
        """Return the mean of the rows that count, [width] float32 little-endian. The last chunk must be added."""
        assert self._total is not None, "no row was added"
        mean = self._total / (self._num_tokens - self._first)
        return mean.float().numpy().astype("<f4").tobytes()
