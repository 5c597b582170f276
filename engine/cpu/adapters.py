"""Packing of an adapter's matrices into the layout of the kernels."""

import ctypes
import math
from collections.abc import Mapping, Sequence

import torch
from torch.nn import functional

from engine.cpu import library
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
    """The matrices of an adapter in panels of bfloat16. `struct` points into memory that this object keeps alive.

    nbytes: size of the panels.
    """

    def __init__(
        self, kernels: Kernels, layers: Sequence[AdapterLayer], factors: Sequence[Mapping[str, torch.Tensor]]
    ) -> None:
        """Pack the matrices of `layers`, in bfloat16.

        factors: for each layer, those of the columns of the projections' inputs (`engine.cpu.levelling`), by the names
            of the projections whose columns are levelled.
        """
        self._kernels = kernels
        self._panels: list[torch.Tensor] = []
        self._ranks: list[int] = []
        self._layers = (library.AdapterLayer * len(layers))(
            *(self._layer(layer, of_layer) for layer, of_layer in zip(layers, factors, strict=True))
        )
        self.struct = library.Adapter(layers=self._layers, rank=max(self._ranks, default=0))

    @property
    def address(self) -> int:
        """Address of `struct`."""
        return ctypes.addressof(self.struct)

    @property
    def nbytes(self) -> int:
        """Size of the panels in bytes."""
        return sum(panels.nbytes for panels in self._panels)

    def _layer(self, layer: AdapterLayer, factors: Mapping[str, torch.Tensor]) -> library.AdapterLayer:
        fields = {
            field: self._low_rank(layer[name], factors.get(name)) for field, name in _FIELDS.items() if name in layer
        }
        return library.AdapterLayer(**fields)

    def _low_rank(self, change: LowRank, factors: torch.Tensor | None) -> library.LowRank:
        a = change.a if factors is None else change.a * factors.to(change.a.dtype)
        rank = math.ceil(len(a) / PANEL) * PANEL
        self._ranks.append(rank)
        b = functional.pad(change.b, (0, rank - len(a)))
        return library.LowRank(a=self._pack(a), b=self._pack(b), rank=rank, factor=change.factor)

    def _pack(self, matrix: torch.Tensor) -> int:
        """Pack `matrix` [rows, depth]. Rows that are missing in the last panel are zeros."""
        rows, depth = matrix.shape
        panels = torch.zeros(self._kernels.panel_bytes("bfloat16", depth) * math.ceil(rows / PANEL), dtype=torch.uint8)
        self._kernels.pack_rows(matrix.contiguous(), rows, depth, panels, weights="bfloat16", first_panel=0, step=1)
        self._panels.append(panels)
        return panels.data_ptr()
