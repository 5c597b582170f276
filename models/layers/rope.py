"""Rotary position embedding (Su et al., 2021) in the half-split order of GPT-NeoX and Llama."""

import math
from dataclasses import dataclass
from typing import Protocol

import torch


class RopeScaling(Protocol):
    """A change to the frequencies of a rotary table."""

    @property
    def magnitude(self) -> float:
        """Factor of cos and sin."""

    @property
    def name(self) -> str:
        """Name of a choice that the context window made; empty if config.json determines the frequencies alone."""

    def apply(self, inv_freq: torch.Tensor) -> torch.Tensor:
        """Return the scaled frequencies of `inv_freq` [rotary_dim / 2], in the same shape."""


@dataclass(frozen=True, slots=True)
class Llama3Scaling:
    """Llama 3.1's scaling: long wavelengths are stretched by `factor`, short ones kept, with a ramp between."""

    factor: float
    low_freq_factor: float
    high_freq_factor: float
    original_max_position: int
    magnitude: float = 1.0
    name: str = ""

    def apply(self, inv_freq: torch.Tensor) -> torch.Tensor:
        """Return the scaled frequencies of `inv_freq` [rotary_dim / 2], in the same shape."""
        wavelength = 2 * math.pi / inv_freq
        turns = self.original_max_position / wavelength
        keep = ((turns - self.low_freq_factor) / (self.high_freq_factor - self.low_freq_factor)).clamp(0, 1)
        return inv_freq * (keep + (1 - keep) / self.factor)


@dataclass(frozen=True, slots=True)
class LinearScaling:
    """Every wavelength is stretched by `factor`."""

    factor: float
    magnitude: float = 1.0
    name: str = ""

    def apply(self, inv_freq: torch.Tensor) -> torch.Tensor:
        """Return the scaled frequencies of `inv_freq` [rotary_dim / 2], in the same shape."""
        return inv_freq / self.factor


@dataclass(frozen=True, slots=True)
class LongRope:
    """LongRoPE of Phi-3 and Phi-4: each wavelength has a factor, of one list for short contexts and one for long ones.

    The context window selects the list, once for all sequences. A choice by the longest sequence of a batch would make
    KV depend on the other sequences.
    """

    short: tuple[float, ...]
    long: tuple[float, ...]
    original_max_position: int
    window: int
    """Largest number of tokens of a sequence."""
    magnitude: float

    @property
    def name(self) -> str:
        """Name of the chosen list."""
        return "longrope-long" if self.window > self.original_max_position else "longrope-short"

    def apply(self, inv_freq: torch.Tensor) -> torch.Tensor:
        """Return the scaled frequencies of `inv_freq` [rotary_dim / 2], in the same shape."""
        factors = self.long if self.window > self.original_max_position else self.short
        return inv_freq / torch.tensor(factors)


class RotaryTable:
    """cos and sin of every position, float32 [positions, 1, head_dim], computed once."""

    def __init__(
        self,
        head_dim: int,
        positions: int,
        theta: float,
        scaling: RopeScaling | None,
        device: torch.device,
        rotary_dim: int = 0,
    ) -> None:
        """Compute the table.

        rotary_dim: number of rotated elements of a head; 0 for all. The others are the last ones of each half, and
            their angles are 0 (`rotary_order` puts the elements of a checkpoint in this order).
        """
        rotary_dim = rotary_dim or head_dim
        inv_freq = 1.0 / (theta ** (torch.arange(0, rotary_dim, 2, dtype=torch.int64).float() / rotary_dim))
        if scaling is not None:
            inv_freq = scaling.apply(inv_freq)
        angles = torch.outer(torch.arange(positions, dtype=torch.float32), inv_freq)
        magnitude = 1.0 if scaling is None else scaling.magnitude
        still = (head_dim - rotary_dim) // 2
        cos = torch.nn.functional.pad(angles.cos() * magnitude, (0, still), value=1.0)
        sin = torch.nn.functional.pad(angles.sin() * magnitude, (0, still))
        self._half = head_dim // 2
        self._cos = cos.repeat(1, 2).unsqueeze(1).to(device)
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


def rotary_order(head_dim: int, rotary_dim: int) -> torch.Tensor:
    """Return the order of a head's elements, int64 [head_dim], in which RotaryTable rotates the first `rotary_dim`.

    A checkpoint rotates its elements i and i + rotary_dim / 2 together. The table rotates i and i + head_dim / 2.
    Scores do not change, because q and k have the same order.
    """
    turned, still = torch.arange(rotary_dim).view(2, -1), torch.arange(rotary_dim, head_dim).view(2, -1)
    return torch.cat((turned, still), dim=1).flatten()
