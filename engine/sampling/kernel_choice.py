"""The choice between the kernels of a GPU and plain torch. Both sample the same tokens, given the same logits."""

import shutil
from functools import cache
from importlib.util import find_spec

import torch


def has_kernels(tensor: torch.Tensor) -> bool:
    """Return whether Triton's kernels sample where `tensor` is: on a CUDA GPU that they can be compiled for."""
    return tensor.is_cuda and _can_compile()


@cache
def _can_compile() -> bool:
    """Return whether Triton is installed, and a C compiler with which it builds its launchers."""
    return find_spec("triton") is not None and (shutil.which("gcc") or shutil.which("clang")) is not None
