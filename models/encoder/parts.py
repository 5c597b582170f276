"""Parts that encoders share: linear layers, norms and attention over the whole text."""

from collections.abc import Iterator, Sequence
from typing import Final

import torch
from torch.nn import functional

from models.interface.causal_lm import Matrix, MatrixPacker, MatrixRole

_QUERIES: Final = 256
"""Queries of a text whose scores are in memory at once."""


class Linear:
    """A linear layer that maps float32 rows to float32 rows, in plain torch or by a packed matrix.

    Products are in the dtype of the weights.
    """

    def __init__(self, depth: int, rows: int, *, bias: bool, dtype: torch.dtype, device: torch.device) -> None:
        """Allocate weight [rows, depth] and bias [rows], which hold garbage until `slots` are filled."""
        self.weight = torch.empty(rows, depth, dtype=dtype, device=device)
        self.bias = torch.empty(rows, dtype=dtype, device=device) if bias else None
        self._matrix: Matrix | None = None

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """Map x [T, depth] to [T, rows]."""
        x = x.to(self.weight.dtype)
        return (functional.linear(x, self.weight, self.bias) if self._matrix is None else self._matrix(x)).float()

    def pack(self, packer: MatrixPacker) -> None:
        """Multiply by a packed matrix from now on."""
        self._matrix = packer.pack(self.weight, self.bias, MatrixRole.LAYER)
        self.weight = self.weight.new_empty(0)

    def slots(self, name: str) -> dict[str, torch.Tensor]:
        """Return views to fill, by checkpoint name."""
        slots = {f"{name}.weight": self.weight}
        return slots if self.bias is None else slots | {f"{name}.bias": self.bias}


class LayerNorm:
    """LayerNorm of float32 rows."""

    def __init__(self, size: int, eps: float, *, bias: bool, device: torch.device) -> None:
        self._weight = torch.empty(size, device=device)
        self._bias = torch.empty(size, device=device) if bias else None
        self._eps = eps

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """Map x [T, size] to [T, size]."""
        return functional.layer_norm(x, self._weight.shape, self._weight, self._bias, self._eps)

    def slots(self, name: str) -> dict[str, torch.Tensor]:
        """Return views to fill, by checkpoint name."""
        slots = {f"{name}.weight": self._weight}
        return slots if self._bias is None else slots | {f"{name}.bias": self._bias}


def spans(lengths: Sequence[int]) -> Iterator[slice]:
    """Yield the rows of each of several texts that follow each other."""
    start = 0
    for length in lengths:
        yield slice(start, start + length)
        start += length


def positions_in(lengths: Sequence[int], device: torch.device) -> torch.Tensor:
    """Return the position of each row in its own text, int64 [T], for texts that follow each other."""
    return torch.cat([torch.arange(length) for length in lengths]).to(device)


def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, lengths: Sequence[int], window: int = 0) -> torch.Tensor:
    """Let each token attend to its whole text, in both directions. Return [T, heads * width].

    Each text is computed alone and in the same pieces, so its bits do not depend on the other texts.

    q, k, v: [T, heads, width] float32, rotated. window: distance up to which tokens attend to each other; 0 for any.
    """
    out = torch.empty_like(q)
    for rows in spans(lengths):
        queries, keys, values = (part[rows].transpose(0, 1).contiguous() for part in (q, k, v))
        length = rows.stop - rows.start
        for first in range(0, length, _QUERIES):
            last = min(first + _QUERIES, length)
            begin, end = (max(0, first - window), min(length, last + window)) if window else (0, length)
            scores = queries[:, first:last] @ keys[:, begin:end].transpose(1, 2) * q.shape[-1] ** -0.5
            if window:
                distance = torch.arange(first, last)[:, None] - torch.arange(begin, end)
                scores.masked_fill_((distance.abs() > window).to(scores.device), -torch.inf)
            found = scores.softmax(-1) @ values[:, begin:end]
            out[rows.start + first : rows.start + last] = found.transpose(0, 1)
    return out.flatten(1)
