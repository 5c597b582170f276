"""Gated activations of a decoder's MLP (Shazeer, "GLU Variants Improve Transformer", 2020)."""

import torch
from torch.nn import functional


def geglu(gate_up: torch.Tensor) -> torch.Tensor:
    """Return gelu(gate) * up [T, inner] for gate_up [T, 2 * inner], where gate comes before up; gelu by tanh."""
    gate, up = gate_up.chunk(2, dim=-1)
    return functional.gelu(gate, approximate="tanh").mul_(up)


def swiglu(gate_up: torch.Tensor) -> torch.Tensor:
    """Return silu(gate) * up [T, inner] for gate_up [T, 2 * inner], where gate comes before up."""
    gate, up = gate_up.chunk(2, dim=-1)
    return functional.silu(gate).mul_(up)
