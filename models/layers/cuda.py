"""A decoder's small layers on a CUDA GPU: one launch each, not up to nine. Plain torch where Triton is missing."""

from importlib.util import find_spec
from typing import Final

import torch

from models.layers.kinds import TORCH_LAYERS, LayerKinds
from models.layers.rms_norm import RMSNorm
from models.layers.rope import RotaryTable

MAX_SIZE: Final = 16384
"""Largest row, in elements, that one program normalizes. A longer row goes to torch."""


def cuda_layers() -> LayerKinds:
    """Select the layers of a GPU."""
    if find_spec("triton") is None:
        return TORCH_LAYERS
    return LayerKinds("triton-1", CudaRMSNorm, CudaRotaryTable, cuda_swiglu)


class CudaRMSNorm(RMSNorm):
    """RMSNorm in one launch, with the sum that precedes it."""

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """Normalize x [T, size]. Return the same shape and dtype; x is not changed."""
        if x.shape[-1] > MAX_SIZE:
            return super().__call__(x)
        from models.layers import triton_layers

        return triton_layers.norm(x, self.weight, self._eps)

    def add(self, x: torch.Tensor, change: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return (norm(x + change), x + change), both [T, size]; x is updated in place."""
        if x.shape[-1] > MAX_SIZE:
            return super().add(x, change)
        from models.layers import triton_layers

        return triton_layers.norm(x, self.weight, self._eps, change), x


class CudaRotaryTable(RotaryTable):
    """Rotation in one launch."""

    def rotate(self, x: torch.Tensor, rows: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        """Rotate x [T, heads, head_dim] to the positions of `rows`. Return the same shape and dtype."""
        from models.layers import triton_layers

        return triton_layers.rotate(x, *rows)


def cuda_swiglu(gate_up: torch.Tensor) -> torch.Tensor:
    """Return silu(gate) * up [T, inner] for gate_up [T, 2 * inner], where gate comes before up."""
    from models.layers import triton_layers

    return triton_layers.gate(gate_up)
