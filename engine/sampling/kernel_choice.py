"""The choice between the kernels of a GPU and plain torch. Both sample the same tokens, given the same logits."""

import logging
from functools import cache
from importlib.util import find_spec

import torch

logger = logging.getLogger(__name__)


def has_kernels(tensor: torch.Tensor) -> bool:
    """Return whether Triton's kernels sample where `tensor` is: on a CUDA GPU for which they can be compiled."""
    return tensor.is_cuda and _can_compile(tensor.device)


@cache
def _can_compile(device: torch.device) -> bool:
    """Draw with a kernel, and return whether that works. Triton needs a C compiler and the headers of Python."""
    if find_spec("triton") is None:
        return False
    try:
        from engine.sampling import triton_draws

        ones = torch.ones((1, 1), device=device)
        triton_draws.draw_by_id(ones, None, torch.zeros(1, dtype=torch.float64, device=device))
    except Exception as error:  # whatever the compiler raises
        logger.warning("plain torch samples, more slowly, because Triton cannot compile its kernels: %s", error)
        return False
    return True
