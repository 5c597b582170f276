"""What one rank of a tensor-parallel group holds of the decoder: whole heads, and a part of the MLP.

Every rank computes with a smaller `PanguConfig`; the outputs of its attention and of its MLP are partial sums, which
the group adds up. A bias behind such a sum must count once: rank 0 has it, the others have zeros in its place.
"""

from dataclasses import replace

import torch

from models.errors import UnsupportedModelError
from models.pangu.config import PanguConfig

BY_ROWS = (
    *(f"{name}_proj.{kind}" for name in "qkv" for kind in ("weight", "bias")),
    "gate_proj.weight",
    "up_proj.weight",
)
BY_COLUMNS = ("o_proj.weight", "down_proj.weight")
ONCE = ("o_proj.bias",)


def rank_config(config: PanguConfig, size: int) -> PanguConfig:
    """The shape of the decoder on each of `size` ranks. Raises UnsupportedModelError if it cannot be cut so."""
    names = ("num_heads", "num_kv_heads", "intermediate_size")
    cut: dict[str, int] = {name: getattr(config, name) for name in names}
    for name, whole in cut.items():
        if whole % size:
            raise UnsupportedModelError(f"{whole} {name} cannot be shared by {size} ranks")
    heads, kv_heads, inner = (whole // size for whole in cut.values())
    return replace(config, num_heads=heads, num_kv_heads=kv_heads, intermediate_size=inner)


def rank_tensor(name: str, tensor: torch.Tensor, *, rank: int, size: int) -> torch.Tensor:
    """The part of the checkpoint's tensor `name` that `rank` of `size` holds; a view, except for zeros."""
    if name.endswith(BY_ROWS):
        return tensor.chunk(size, dim=0)[rank]
    if name.endswith(BY_COLUMNS):
        return tensor.chunk(size, dim=1)[rank]
    if name.endswith(ONCE) and rank:
        return torch.zeros_like(tensor)
    return tensor
