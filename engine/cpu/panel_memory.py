"""The memory of all packed matrices of a model."""

import ctypes
import math
from collections.abc import Sequence

import torch

from engine.cpu.huge_pages import huge_memory
from engine.cpu.library import WEIGHT_FORMATS, Matrix, Part

ALIGNMENT = 64


class PanelMemory:
    """A single stretch for all matrices, mapped and freed as one and never fragmented.

    Space is reserved first. Then it is either allocated, or it is in a pack file.
    """

    def __init__(self) -> None:
        self.nbytes = 0
        self.bytes = torch.empty(0, dtype=torch.uint8)
        self._parts: list[tuple[ctypes.Array[Part], list[int]]] = []

    def reserve(self, nbytes: int) -> int:
        """Reserve `nbytes`, aligned for vector loads, and return their place."""
        start = self.nbytes
        self.nbytes += math.ceil(nbytes / ALIGNMENT) * ALIGNMENT
        return start

    def matrix(self, pieces: Sequence[tuple[int, int, str]]) -> Matrix:
        """Create a matrix of pieces, each of which has a place, a number of panels and a format."""
        parts, end = (Part * len(pieces))(), 0
        for part, (_, panels, format_) in zip(parts, pieces, strict=True):
            end += panels
            part.end, part.format = end, WEIGHT_FORMATS.index(format_)
        self._parts.append((parts, [place for place, _, _ in pieces]))
        return Matrix(parts, len(pieces))

    def allocate(self) -> None:
        """Allocate all reserved bytes, in huge pages where possible, and give the matrices their addresses."""
        self.bytes = huge_memory(self.nbytes)
        self.use(self.bytes.data_ptr())

    def use(self, address: int) -> None:
        """Give the matrices their addresses in `nbytes` that are at `address` already, as full panels."""
        for parts, places in self._parts:
            for part, place in zip(parts, places, strict=True):
                part.data = address + place

    def slice(self, place: int, nbytes: int) -> torch.Tensor:
        """Return allocated bytes."""
        return self.bytes[place : place + nbytes]
