"""Which implementation of a decoder's small layers serves: plain torch, or the fused operators of a device."""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from models.layers.rms_norm import RMSNorm
from models.layers.rope import RotaryTable
from models.layers.swiglu import swiglu


@dataclass(frozen=True, slots=True)
class LayerKinds:
    """name: part of the numerics, because fused operators round differently. The rest: classes or makers of them, with
    the arguments of `RMSNorm` and `RotaryTable`, and a function like `swiglu`."""

    name: str
    rms_norm: Callable[..., RMSNorm]
    rotary: Callable[..., RotaryTable]
    swiglu: Callable[[torch.Tensor], torch.Tensor]


TORCH_LAYERS = LayerKinds("torch", RMSNorm, RotaryTable, swiglu)
