"""The parts of transformers, and of the modules of torch, that these do not promise to keep, under names of our own.

`tests/contract/test_private_parts.py` names each of them, and fails if another version lacks one.
"""

import copy
from typing import Any

import torch
from transformers import PreTrainedConfig, PreTrainedModel


def make_network(
    kind: type[PreTrainedModel], config: PreTrainedConfig, *, dtype: torch.dtype, attention: str, experts: str
) -> PreTrainedModel:
    """Make a network without reading weights.

    experts: implementation of the experts, where the network lets choose it.
    """
    choice = {"experts_implementation": experts} if kind._can_set_experts_implementation() else {}
    return kind._from_config(config, dtype=dtype, attn_implementation=attention, **choice)


def is_recurrent(kind: type[PreTrainedModel]) -> bool:
    """Return whether networks of this class keep a state that is not KV."""
    return bool(kind._is_stateful)


def set_attention(config: Any, name: str) -> None:
    """Set the attention implementation of the modules with `config`.

    The public setter would first look for `name` on the hub, and refuses some networks by their source.
    """
    config._attn_implementation_internal = name


def set_experts(config: Any, name: str) -> None:
    """Set the implementation of the experts of the modules with `config`."""
    config._experts_implementation_internal = name


def gated(experts: Any, up: torch.Tensor) -> torch.Tensor:
    """Apply the activation of experts with a gate to [T, 2 * inner], their gate and up projections."""
    inner: torch.Tensor = experts._apply_gate(up)
    return inner


def with_part(module: torch.nn.Module, name: str, part: torch.nn.Module) -> torch.nn.Module:
    """Copy `module` with `part` as its `name`. The copy shares every other module and all weights."""
    twin = copy.copy(module)
    twin._modules = {**module._modules, name: part}
    return twin
