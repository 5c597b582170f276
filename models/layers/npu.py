"""A decoder's small layers as fused operators of an Ascend NPU. Plain torch replaces an operator that is missing.

The operators are reached through `torch.ops.npu`, which is the same object with and without torch_npu; the names and
arguments are those that torch_npu 2.13 registers.
"""

from functools import partial

import torch

from models.layers import npu_limits as limits
from models.layers.kinds import TORCH_LAYERS, LayerKinds
from models.layers.rms_norm import RMSNorm
from models.layers.rope import RopeScaling, RotaryTable

RopeRows = tuple[torch.Tensor, torch.Tensor]


def npu_layers(*, check: bool) -> LayerKinds:
    """Select the layers of an NPU.

    check: compare every call with the operator's documented limits; a violation raises OperatorLimitError.
    """
    return LayerKinds(
        "npu",
        partial(NpuRMSNorm, check=check) if _exist("npu_rms_norm", "npu_add_rms_norm") else TORCH_LAYERS.rms_norm,
        partial(NpuRotaryTable, check=check) if _exist("npu_rotary_mul") else TORCH_LAYERS.rotary,
        partial(npu_swiglu, check=check) if _exist("npu_swiglu") else TORCH_LAYERS.swiglu,
    )


def _exist(*names: str) -> bool:
    return all(hasattr(torch.ops.npu, name) for name in names)


class NpuRMSNorm(RMSNorm):
    """RMSNorm by npu_rms_norm, and by npu_add_rms_norm where a sum precedes the norm."""

    def __init__(self, size: int, eps: float, *, dtype: torch.dtype, device: torch.device, check: bool) -> None:
        super().__init__(size, eps, dtype=dtype, device=device)
        self._check = check

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """Normalize x [T, size]. Return [T, size] in x's dtype; x is not changed."""
        if self._check:
            limits.check_rms_norm(x, self.weight)
        normed: torch.Tensor = torch.ops.npu.npu_rms_norm(x, self.weight, self._eps)[0]
        return normed

    def add(self, x: torch.Tensor, change: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return (norm(x + change), x + change), both [T, size]; x is not changed."""
        if self._check:
            limits.check_add_rms_norm(x, change, self.weight)
        normed, _rstd, total = torch.ops.npu.npu_add_rms_norm(x, change, self.weight, self._eps)
        return normed, total


class NpuRotaryTable(RotaryTable):
    """Rotation by npu_rotary_mul, which needs cos and sin in the dtype of its input.

    The operator negates half of its input itself, so this table drops the minus of RotaryTable's sin.
    """

    def __init__(
        self,
        head_dim: int,
        positions: int,
        theta: float,
        scaling: RopeScaling | None,
        device: torch.device,
        rotary_dim: int = 0,
        *,
        check: bool,
    ) -> None:
        super().__init__(head_dim, positions, theta, scaling, device, rotary_dim)
        self._sin[..., : self._half].neg_()
        self._check = check

    def rotate(self, x: torch.Tensor, rows: RopeRows) -> torch.Tensor:
        """Rotate x [T, heads, head_dim] to the positions of `rows`. Return the same shape and dtype."""
        # The operator gets the T rows as one sequence: layout BSND, with cos and sin as 1S1D.
        cos, sin = (table.to(x.dtype)[None] for table in rows)
        if self._check:
            limits.check_rotary_mul(x[None], cos, sin)
        turned: torch.Tensor = torch.ops.npu.npu_rotary_mul(x[None], cos, sin, "half")
        return turned[0]


def npu_swiglu(gate_up: torch.Tensor, *, check: bool) -> torch.Tensor:
    """Return silu(gate) * up [T, inner] for gate_up [T, 2 * inner], where gate comes before up."""
    if check:
        limits.check_swiglu(gate_up)
    activated: torch.Tensor = torch.ops.npu.npu_swiglu(gate_up, -1)
    return activated
