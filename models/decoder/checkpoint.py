"""Tensors of a checkpoint as the decoder's slots: other names, fused projections, weights in another form."""

from typing import Final

import torch

from models.decoder.config import DecoderConfig
from models.errors import WeightsError
from models.layers.rope import rotary_order

IMAGE_PARTS: Final = tuple(
    f"{prefix}{name}." for prefix in ("", "model.") for name in ("vision_tower", "multi_modal_projector")
)
"""Beginnings of the names of tensors that belong to the part for images."""

_FUSED = {"qkv_proj": ("q_proj", "k_proj", "v_proj"), "gate_up_proj": ("gate_proj", "up_proj")}


def canonical_name(name: str) -> str:
    """Return the name that the checkpoint's tensor `name` has in a folder of a language model alone."""
    for prefix in ("model.language_model.", "language_model.model."):
        if name.startswith(prefix):
            return "model." + name.removeprefix(prefix)
    # Models for embeddings are published without their head, and so without the name of the part below it.
    if name.startswith(("embed_tokens.", "layers.", "norm.")):
        return "model." + name
    return name.removeprefix("language_model.")


def slot_names(name: str, config: DecoderConfig) -> tuple[str, ...]:
    """Return the names of the slots that the checkpoint's tensor `name` fills."""
    name = canonical_name(name)
    module = name.split(".")[-2] if config.fused_projections and name.count(".") else ""
    return tuple(name.replace(module, part) for part in _FUSED.get(module, ())) or (name,)


def slot_tensor(name: str, tensor: torch.Tensor, config: DecoderConfig) -> torch.Tensor:
    """Return the values of the slot `name` from the checkpoint's tensor, which may hold several slots.

    config: shape of the whole model.
    tensor: values, or blocks of a row each, of which rows are selected.

    Raise WeightsError if a fused tensor has another number of rows than its parts together.
    """
    module = name.split(".")[-2]
    if config.fused_projections:
        tensor = _unfused(module, tensor, config)
    rotary_dim = config.ropes[0].rotary_dim
    if rotary_dim and module in ("q_proj", "k_proj"):
        heads = tensor.view(-1, config.head_dim, *tensor.shape[1:])
        ordered: torch.Tensor = heads[:, rotary_order(config.head_dim, rotary_dim)].flatten(0, 1)
        return ordered
    if config.adds_one_to_norms and name.endswith("norm.weight"):
        return 1 + tensor.float()
    return tensor


def _unfused(module: str, tensor: torch.Tensor, config: DecoderConfig) -> torch.Tensor:
    q, kv, inner = config.num_heads * config.head_dim, config.num_kv_heads * config.head_dim, config.intermediate_size
    sizes = {"q_proj": q, "k_proj": kv, "v_proj": kv, "gate_proj": inner, "up_proj": inner}
    parts = next((parts for parts in _FUSED.values() if module in parts), None)
    if parts is None:
        return tensor
    rows = [sizes[part] for part in parts]
    if len(tensor) != sum(rows):
        raise WeightsError(f"a fused tensor for {module} has {len(tensor)} rows, but the model needs {sum(rows)}")
    return torch.split(tensor, rows)[parts.index(module)]
