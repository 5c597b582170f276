"""Tensor parallelism of the decoder: each rank holds whole heads and a part of every MLP.

Every rank computes with a smaller `DecoderConfig`. The outputs of attention and MLP are partial sums, which the group
adds up. A bias on such a sum must count once, so rank 0 holds the bias and the other ranks hold zeros.
"""

from dataclasses import replace

import torch

from models.decoder.config import DecoderConfig
from models.errors import UnsupportedModelError

BY_ROWS = (
    *(f"{name}_proj.{kind}" for name in "qkv" for kind in ("weight", "bias")),
    "gate_proj.weight",
    "up_proj.weight",
)
BY_COLUMNS = ("o_proj.weight", "down_proj.weight")
ONCE = ("o_proj.bias",)


def rank_config(config: DecoderConfig, size: int) -> DecoderConfig:
    """Return the shape of the decoder on each of `size` ranks.

    Raise UnsupportedModelError if the heads or the MLP cannot be divided evenly.
    """
    names = ("num_heads", "num_kv_heads", "intermediate_size")
    cut: dict[str, int] = {name: getattr(config, name) for name in names}
    for name, whole in cut.items():
        if whole % size:
            raise UnsupportedModelError(f"{whole} {name} cannot be divided among {size} ranks")
    heads, kv_heads, inner = (whole // size for whole in cut.values())
    return replace(config, num_heads=heads, num_kv_heads=kv_heads, intermediate_size=inner)


def rank_tensor(name: str, tensor: torch.Tensor, *, rank: int, size: int) -> torch.Tensor:
    """Return the part of the checkpoint's tensor `name` that `rank` of `size` holds: a view, or new zeros."""
    if name.endswith(BY_ROWS):
        return tensor.chunk(size, dim=0)[rank]
    if name.endswith(BY_COLUMNS):
        return tensor.chunk(size, dim=1)[rank]
    if name.endswith(ONCE) and rank:
        return torch.zeros_like(tensor)
    return tensor
