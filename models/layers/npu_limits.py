"""Limits of an Ascend NPU's fused operators that their schemas do not express.

Source: Ascend/op-plugin, docs/zh/custom_APIs/torch_npu, one page per operator. An illegal call fails with an error code
of the runtime at best, and returns wrong numbers at worst.
"""

from typing import Final

import torch

MAX_ROTARY_SIDE: Final = 1000
"""Exclusive upper bound of B and N in npu_rotary_mul."""
MAX_ROTARY_DIM: Final = 896
FLOATS: Final = (torch.float16, torch.bfloat16, torch.float32)


class OperatorLimitError(Exception):
    """A call of an NPU operator outside its documented limits. The message names the operator and the argument."""


def require(fact: bool, operator: str, sentence: str) -> None:
    """Raise OperatorLimitError unless `fact` holds."""
    if not fact:
        raise OperatorLimitError(f"{operator}: {sentence}")


def check_rms_norm(x: torch.Tensor, gamma: torch.Tensor) -> None:
    """Check a call of npu_rms_norm."""
    _check_norm("npu_rms_norm", x, gamma)


def check_add_rms_norm(x1: torch.Tensor, x2: torch.Tensor, gamma: torch.Tensor) -> None:
    """Check a call of npu_add_rms_norm."""
    require(x1.shape == x2.shape, "npu_add_rms_norm", f"x1 {list(x1.shape)} and x2 {list(x2.shape)} differ in shape")
    require(x1.dtype is x2.dtype, "npu_add_rms_norm", f"x1 is {x1.dtype}, but x2 is {x2.dtype}")
    _check_norm("npu_add_rms_norm", x1, gamma)


def _check_norm(name: str, x: torch.Tensor, gamma: torch.Tensor) -> None:
    require(x.dtype in FLOATS, name, f"{x.dtype} is not supported")
    require(gamma.dtype is x.dtype, name, f"gamma is {gamma.dtype}, but the input is {x.dtype}")
    require(1 <= x.dim() <= 8, name, f"the input has {x.dim()} dimensions, not 1 to 8")
    require(gamma.shape == x.shape[-gamma.dim() :], name, f"gamma {list(gamma.shape)} does not fit {list(x.shape)}")


def check_rotary_mul(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> None:
    """Check a call of npu_rotary_mul for a BSND tensor in "half" mode."""
    name = "npu_rotary_mul"
    require(x.dim() == cos.dim() == sin.dim() == 4, name, "input, r1 and r2 must have 4 dimensions")
    require(x.dtype in FLOATS, name, f"{x.dtype} is not supported")
    require(cos.dtype is sin.dtype is x.dtype, name, f"r1 and r2 are {cos.dtype} and {sin.dtype}, the input {x.dtype}")
    batch, rows, heads, dim = x.shape
    require(batch < MAX_ROTARY_SIDE and heads < MAX_ROTARY_SIDE, name, f"B {batch} or N {heads} is too large")
    require(dim < MAX_ROTARY_DIM and dim % 2 == 0, name, f"D {dim} must be even and below {MAX_ROTARY_DIM}")
    for table in (cos, sin):
        fits = table.shape[1] == rows and table.shape[3] == dim and table.shape[2] in (1, heads)
        require(fits and table.shape[0] in (1, batch), name, f"{list(table.shape)} does not broadcast as 1S1D does")


def check_swiglu(x: torch.Tensor) -> None:
    """Check a call of npu_swiglu over the last dimension."""
    require(x.dtype in FLOATS, "npu_swiglu", f"{x.dtype} is not supported")
    require(x.shape[-1] % 2 == 0, "npu_swiglu", f"the last dimension {x.shape[-1]} is not even")
