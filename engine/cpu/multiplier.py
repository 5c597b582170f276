"""Packed matrices that multiply outside of a step, for networks that torch computes between their matrices."""

import math
import weakref
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import torch
from torch.nn import functional

from engine.cpu.library import BFLOAT16_FORMATS, HEAD_FORMATS, WEIGHT_FORMATS, Kernels, Matrix, Part, Product
from engine.cpu.panel_memory import ALIGNMENT
from engine.cpu.weights import PANEL
from models.interface.causal_lm import MatrixRole

_BFLOAT16: Final = "bfloat16"

FORMATS: Final[Mapping[str, Mapping[MatrixRole, str]]] = MappingProxyType(
    {
        weights: {MatrixRole.LAYER: weights, MatrixRole.HEAD: HEAD_FORMATS[weights], MatrixRole.ROUTER: _BFLOAT16}
        for weights in BFLOAT16_FORMATS
    }
)
"""Format of a matrix by its role, for each format of a network's weights. Errors of a router change the chosen
experts."""


class Multiplier:
    """Threads of the kernels that multiply rows by packed matrices.

    Satisfies `models.interface.causal_lm.MatrixPacker`.

    An output is a function of its row alone, whatever the other rows and the number of threads.
    """

    def __init__(self, kernels: Kernels, *, threads: int, weights: str) -> None:
        """Start the threads. weights: a key of FORMATS. Raise EngineError if the threads cannot be started."""
        build = kernels.build
        self.name = f"native-{build.instruction_set.name}-{build.digest};{weights}"
        self._formats = FORMATS[weights]
        self._kernels = kernels
        self._handle = kernels.create_multiplier(threads)
        weakref.finalize(self, kernels.destroy_multiplier, self._handle)

    def pack(self, weight: torch.Tensor, bias: torch.Tensor | None, role: MatrixRole) -> "PackedMatrix":
        """See `models.interface.causal_lm.MatrixPacker`. Both tensors must be bfloat16."""
        rows, depth = weight.shape
        weights = self._formats[role]
        padded = functional.pad(weight, (0, -depth % PANEL)).contiguous()
        panels = math.ceil(rows / PANEL)
        nbytes = panels * self._kernels.panel_bytes(weights, padded.shape[1])
        memory = torch.zeros(nbytes + ALIGNMENT, dtype=torch.uint8)
        memory = memory[-memory.data_ptr() % ALIGNMENT :][:nbytes]
        self._kernels.pack_rows(padded, rows, padded.shape[1], memory, weights=weights, first_panel=0, step=1)
        return PackedMatrix(self, memory, None if bias is None else bias.float(), rows, depth, weights)

    def multiply(self, product: Product) -> None:
        """Compute a product. Call from one thread at a time. Raise EngineError without memory for it."""
        self._kernels.multiply(self._handle, product)


class PackedMatrix:
    """A matrix [rows, depth] in panels, and its bias. Satisfies `models.interface.causal_lm.Matrix`."""

    def __init__(
        self,
        multiplier: Multiplier,
        memory: torch.Tensor,
        bias: torch.Tensor | None,
        rows: int,
        depth: int,
        weights: str,
    ) -> None:
        """memory: panels in the format `weights`. bias: [rows] float32."""
        self._multiplier = multiplier
        self._memory = memory
        self._bias = bias
        self._rows = rows
        self._depth = depth
        self._padding = -depth % PANEL
        self._parts = (Part * 1)(Part(memory.data_ptr(), math.ceil(rows / PANEL), WEIGHT_FORMATS.index(weights)))
        # A step computes hundreds of products. Filling in a new structure takes as long as a small product.
        self._product = Product(
            right=Matrix(self._parts, 1),
            bias=None if bias is None else bias.data_ptr(),
            depth=depth + self._padding,
            columns=rows,
        )
        self.keeps_values = weights == _BFLOAT16

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """Map x [..., depth] to [..., rows], both bfloat16. Call from one thread at a time."""
        left = (functional.pad(x, (0, self._padding)) if self._padding else x).contiguous()
        out = torch.empty(*x.shape[:-1], self._rows, dtype=torch.bfloat16)
        product = self._product
        product.left, product.out, product.rows = left.data_ptr(), out.data_ptr(), x.numel() // self._depth
        self._multiplier.multiply(product)
        return out

    def row_values(self, indices: torch.Tensor) -> torch.Tensor:
        """Return the rows [..., depth] of int64 indices [...]. The matrix must keep its values."""
        panels = self._memory.view(torch.bfloat16).view(-1, (self._depth + PANEL - 1) // PANEL * PANEL // 2, PANEL, 2)
        pairs = panels[indices // PANEL, :, indices % PANEL]
        return pairs.flatten(-2)[..., : self._depth]
