"""Parameters whose values are no longer needed."""

import torch
from torch import nn


def forget(module: nn.Module, name: str) -> None:
    """Free the parameter `name` of `module`, and leave a tensor of its shape and dtype without values.

    Code that asks for either still works. Code that computes with the values fails instead of computing nonsense.
    """
    parameter = module._parameters.pop(name)
    assert parameter is not None
    setattr(module, name, torch.empty_like(parameter, device="meta"))
