"""The gated activation of a decoder's MLP (Shazeer, 2020)."""

import torch
from torch.nn import functional


def swiglu(gate_up: torch.Tensor) -> torch.Tensor:
    """gate_up [T, 2 * inner], gate before up -> silu(gate) * up [T, inner]."""
    gate, up = gate_up.chunk(2, dim=-1)
    return functional.silu(gate).mul_(up)
