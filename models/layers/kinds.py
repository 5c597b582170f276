"""Implementations of a decoder's small layers: plain torch, or the fused operators of a device."""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from models.layers.activations import swiglu
from models.layers.rms_norm import RMSNorm
from models.layers.rope import RotaryTable


@dataclass(frozen=True, slots=True)
class LayerKinds:
    """Implementations of the layers on one kind of device.

    name: part of the numerics, because fused operators round differently.
    rms_norm, rotary: classes or factories, with the arguments of `RMSNorm` and `RotaryTable`.
    swiglu: function with the arguments of `swiglu`.
    """

    name: str
    rms_norm: Callable[..., RMSNorm]
    rotary: Callable[..., RotaryTable]
    swiglu: Callable[[torch.Tensor], torch.Tensor]


TORCH_LAYERS = LayerKinds("torch", RMSNorm, RotaryTable, swiglu)
