"""Rotary position embedding (Su et al., 2021) in the half-split order of GPT-NeoX and Llama."""

import math
from dataclasses import dataclass

import torch


@dataclass(frozen=True, slots=True)
class Llama3Scaling:
    """Llama 3.1's scaling: long wavelengths are stretched by `factor`, short ones kept, with a ramp between."""

    factor: float
    low_freq_factor: float
    high_freq_factor: float
    original_max_position: int

    def apply(self, inv_freq: torch.Tensor) -> torch.Tensor:
        """Return the scaled frequencies of `inv_freq` [head_dim / 2], in the same shape."""
        wavelength = 2 * math.pi / inv_freq
        turns = self.original_max_position / wavelength
        keep = ((turns - self.low_freq_factor) / (self.high_freq_factor - self.low_freq_factor)).clamp(0, 1)
        return inv_freq * (keep + (1 - keep) / self.factor)


class RotaryTable:
    """cos and sin of every position, float32 [positions, 1, head_dim], computed once."""

    def __init__(
        self, head_dim: int, positions: int, theta: float, scaling: Llama3Scaling | None, device: torch.device
    ) -> None:
        inv_freq = 1.0 / (theta ** (torch.arange(0, head_dim, 2, dtype=torch.int64).float() / head_dim))
        if scaling is not None:
            inv_freq = scaling.apply(inv_freq)
        angles = torch.outer(torch.arange(positions, dtype=torch.float32), inv_freq)
        sin = angles.sin()
        self._half = head_dim // 2
        self._cos = angles.cos().repeat(1, 2).unsqueeze(1).to(device)
        # The minus of (-x2, x1) lives in the table, so that a plain roll by half a head makes the rotated partner.
        self._sin = torch.cat((-sin, sin), dim=-1).unsqueeze(1).to(device)

    def rows(self, positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return (cos, sin), each float32 [T, 1, head_dim], of `positions` [T] int64. Call once per forward pass."""
        return self._cos[positions], self._sin[positions]

    def rotate(self, x: torch.Tensor, rows: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        """Rotate `x` [T, heads, head_dim] to the positions of `rows`. Computes in float32, returns x's dtype."""
        cos, sin = rows
        wide = x.float()
        return torch.addcmul(wide * cos, wide.roll(self._half, -1), sin).to(x.dtype)
