"""Packing of an adapter's matrices into the layout of the kernels."""

import ctypes
import math
from collections.abc import Mapping, Sequence

import torch
from torch.nn import functional

from engine.cpu import library
from engine.cpu.huge_pages import huge_memory
from engine.cpu.library import Kernels
from models.decoder.adapters import AdapterLayer, LowRank

PANEL = 32
"""Columns per panel, and the unit of ranks: kPanel in kernels/panels.h."""

_FIELDS = {
    "q": "q_proj",
    "k": "k_proj",
    "v": "v_proj",
    "output": "o_proj",
    "gate": "gate_proj",
    "up": "up_proj",
    "down": "down_proj",
}


class PackedAdapter:
    """The matrices of an adapter in panels of bfloat16. `struct` points into memory that this object keeps alive."""

    def __init__(
        self, kernels: Kernels, layers: Sequence[AdapterLayer], factors: Sequence[Mapping[str, torch.Tensor]]
    ) -> None:
        """Pack the matrices of `layers`, in bfloat16.

        factors: for each layer, those of the columns of the projections' inputs (`engine.cpu.levelling`), by the names
            of the projections whose columns are levelled.
        """
        self._kernels = kernels
        # Pages of new memory are zeros.
        self._memory, self._used = huge_memory(self._total(layers)), 0
        self._ranks: list[int] = []
        self._layers = (library.AdapterLayer * len(layers))(
            *(self._layer(layer, of_layer) for layer, of_layer in zip(layers, factors, strict=True))
        )
        self.struct = library.Adapter(layers=self._layers, rank=max(self._ranks, default=0))

    @property
    def address(self) -> int:
        """Address of `struct`."""
        return ctypes.addressof(self.struct)

    def _layer(self, layer: AdapterLayer, factors: Mapping[str, torch.Tensor]) -> library.AdapterLayer:
        fields = {
            field: self._low_rank(layer[name], factors.get(name)) for field, name in _FIELDS.items() if name in layer
        }
        return library.AdapterLayer(**fields)

    def _low_rank(self, change: LowRank, factors: torch.Tensor | None) -> library.LowRank:
        a = change.a if factors is None else change.a * factors.to(change.a.dtype)
        rank = _padded(len(a))
        self._ranks.append(rank)
        b = functional.pad(change.b, (0, rank - len(a)))
        return library.LowRank(a=self._pack(a), b=self._pack(b), rank=rank, factor=change.factor)

    def _pack(self, matrix: torch.Tensor) -> int:
        """Pack `matrix` [rows, depth], and return its address. Rows that are missing in the last panel are zeros."""
        rows, depth = matrix.shape
        panels = self._memory[self._used : self._used + self._size(rows, depth)]
        self._used += len(panels)
        self._kernels.pack_rows(matrix.contiguous(), rows, depth, panels, weights="bfloat16", first_panel=0, step=1)
        return panels.data_ptr()

    def _size(self, rows: int, depth: int) -> int:
        return self._kernels.panel_bytes("bfloat16", depth) * math.ceil(rows / PANEL)

    def _total(self, layers: Sequence[AdapterLayer]) -> int:
        changes = [change for layer in layers for change in layer.values()]
        return sum(self._size(*each.a.shape) + self._size(len(each.b), _padded(len(each.a))) for each in changes)


def _padded(rank: int) -> int:
    """Return the rank of the panels, which is a whole number of panels of `a`."""
    return math.ceil(rank / PANEL) * PANEL
