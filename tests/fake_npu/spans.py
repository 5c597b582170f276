"""Address spans of tensors, and detection of overlaps."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch


@dataclass(frozen=True)
class Spans:
    """Spans of equal length.

    starts: addresses, ascending.
    length: size of each span in bytes.
    """

    starts: npt.NDArray[np.int64]
    length: int

    @property
    def first(self) -> int:
        return int(self.starts[0])

    @property
    def end(self) -> int:
        return int(self.starts[-1]) + self.length

    def overlap(self, other: "Spans") -> bool:
        if self.end <= other.first or other.end <= self.first:
            return False
        # For each of our spans, the first of the other's spans that ends after our start.
        at = np.searchsorted(other.starts + other.length, self.starts, side="right")
        there = at < len(other.starts)
        return bool((other.starts[at[there]] < self.starts[there] + self.length).any())


def spans_of(tensor: torch.Tensor) -> Spans:
    """Return the spans of a tensor with at least one element and any strides."""
    sizes, strides, length = list(tensor.shape), list(tensor.stride()), 1
    # Merge contiguous inner dimensions to one span.
    while sizes and (sizes[-1] == 1 or strides[-1] == length):
        length *= sizes.pop()
        strides.pop()
    starts = np.zeros(1, dtype=np.int64)
    for size, stride in zip(sizes, strides, strict=True):
        starts = (starts[:, None] + np.arange(size, dtype=np.int64) * stride).reshape(-1)
    starts.sort()
    return Spans(tensor.data_ptr() + starts * tensor.itemsize, length * tensor.itemsize)
