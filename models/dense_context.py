"""The simplest ForwardContext: one whole sequence, nothing cached. The oracle for small checks, not for serving."""

import torch
from torch.nn import functional


class DenseContext:
    """Causal attention over the T rows of one sequence that starts at position 0."""

    def attention(self, layer: int, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:  # noqa: ARG002
        """q [T, heads, head_dim], k and v [T, kv_heads, head_dim] -> [T, heads, head_dim]."""
        q, k, v = (x.transpose(0, 1).unsqueeze(0) for x in (q, k, v))
        out = functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return out.squeeze(0).transpose(0, 1)
