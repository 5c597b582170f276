"""The choice between the kernels of a GPU and plain torch. Both sample the same tokens, given the same logits."""

from functools import cache
from importlib.util import find_spec

import torch


def has_kernels(tensor: torch.Tensor) -> bool:
    """Return whether Triton's kernels sample where `tensor` is: on a CUDA GPU, unless Triton is missing."""
    return tensor.is_cuda and _is_installed()


@cache
def _is_installed() -> bool:
    return find_spec("triton") is not None
