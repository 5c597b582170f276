"""Mixtures of experts over packed matrices, through the experts interface of transformers."""

from collections.abc import Iterator
from typing import Any, Final

import torch
from torch import nn
from transformers import PreTrainedModel
from transformers.integrations.moe import ALL_EXPERTS_FUNCTIONS

from models.interface.causal_lm import Matrix, MatrixPacker, MatrixRole
from models.transformers.transformers_parts import gated, set_experts


def forget(module: nn.Module, name: str) -> None:
    """Free the parameter `name` of `module`, and leave a tensor of its shape and dtype without values.

    Code that asks for either still works. Code that computes with the values fails instead of computing nonsense.
    """
    parameter = module.get_parameter(name)
    delattr(module, name)
    setattr(module, name, torch.empty_like(parameter, device="meta"))


PACKED: Final = "ebb_packed"
"""Name of the implementation of experts over packed matrices."""


class PackedExperts:
    """Matrices of all experts of a layer: those before the activation, and those after."""

    def __init__(self, module: Any, packer: MatrixPacker) -> None:
        """Pack the matrices of a module that follows the experts interface, one expert at a time."""
        self.up = _packed(module, "gate_up_proj" if module.has_gate else "up_proj", packer)
        self.down = _packed(module, "down_proj", packer)


def pack_experts(network: PreTrainedModel, packer: MatrixPacker, dtype: torch.dtype) -> None:
    """Replace the matrices of all experts of `network` by packed ones, where they follow the interface.

    dtype: that of the matrices to replace.
    """
    modules: Iterator[Any] = network.modules()
    for module in modules:
        if _follows_interface(module) and module.down_proj.dtype == dtype:
            module.packed_experts = PackedExperts(module, packer)
            set_experts(module.config, PACKED)


def _follows_interface(module: Any) -> bool:
    return "down_proj" in dict(module.named_parameters(recurse=False)) and hasattr(module, "has_post_expert_norm")


def _packed(module: Any, name: str, packer: MatrixPacker) -> list[Matrix]:
    """Pack the matrix `name` of each expert, and free the plain ones."""
    weights = getattr(module, name)
    biases = getattr(module, f"{name}_bias") if module.has_bias else [None] * len(weights)
    packed = [
        packer.pack(weight.T if module.is_transposed else weight, bias, MatrixRole.LAYER)
        for weight, bias in zip(weights, biases, strict=True)
    ]
    forget(module, name)
    return packed


def _forward(
    self: Any, hidden_states: torch.Tensor, top_k_index: torch.Tensor, top_k_weights: torch.Tensor
) -> torch.Tensor:
    """Compute the weighted sum of each row's experts, in the order of its own choices.

    hidden_states: [T, hidden]. top_k_index, top_k_weights: [T, k].
    """
    packed: PackedExperts = self.packed_experts
    outputs = hidden_states.new_zeros(*top_k_index.shape, hidden_states.shape[-1])
    for expert in top_k_index.unique().tolist():
        if expert < len(packed.up):
            rows, places = torch.where(top_k_index == expert)
            outputs[rows, places] = _expert(self, hidden_states[rows], packed.up[expert], packed.down[expert])
    return (outputs * top_k_weights.unsqueeze(-1)).sum(dim=1).to(hidden_states.dtype)


def _expert(module: Any, x: torch.Tensor, up: Matrix, down: Matrix) -> torch.Tensor:
    inner = gated(module, up(x)) if module.has_gate else module.act_fn(up(x))
    out = down(inner)
    return module.post_expert_norm(out) if module.has_post_expert_norm else out


ALL_EXPERTS_FUNCTIONS.register(PACKED, _forward)
