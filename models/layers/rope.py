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


@dataclass(frozen=True, slots=True, kw_only=True)
class Yarn:
    """YaRN (Peng et al., 2023): wavelengths that turn less than `slow` times in the original context are stretched.

    Wavelengths that turn more than `fast` times are kept. A ramp over the elements joins the two.
    """

    theta: float
    factor: float
    fast: float
    slow: float
    original_max_position: int
    truncates: bool
    """Whether the ends of the ramp are whole elements."""
    magnitude: float
    name: str = ""

    def apply(self, inv_freq: torch.Tensor) -> torch.Tensor:
        """Return the scaled frequencies of `inv_freq` [rotary_dim / 2], in the same shape."""
        begin, end = self._element(self.fast, inv_freq), self._element(self.slow, inv_freq)
        if self.truncates:
            begin, end = math.floor(begin), math.ceil(end)
        begin, end = max(begin, 0), min(end, 2 * len(inv_freq) - 1)
        # An empty ramp is a step.
        end += 0.001 if begin == end else 0
        stretched = ((torch.arange(len(inv_freq), dtype=torch.float32) - begin) / (end - begin)).clamp(0, 1)
        return inv_freq / self.factor * stretched + inv_freq * (1 - stretched)

    def _element(self, turns: float, inv_freq: torch.Tensor) -> float:
        """Return the place of the wavelength that turns `turns` times in the original context."""
        return len(inv_freq) * math.log(self.original_max_position / (turns * 2 * math.pi)) / math.log(self.theta)


@dataclass(frozen=True, slots=True)
class QueryScaling:
    """Llama 4's factor of queries, which grows by a logarithm each time a position passes the original context."""

    beta: float
    original_max_position: int

    def factors(self, positions: int) -> torch.Tensor:
        """Return the factor of a query at each position, float32 [positions]."""
        return 1 + self.beta * torch.log(1 + torch.floor(torch.arange(positions) / self.original_max_position))


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
