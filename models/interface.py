"""What the engine expects of a model, and what a model gets to do its work: nothing else passes between them."""

from typing import Protocol

import torch


class ForwardContext(Protocol):
    """One forward pass as a model sees it. The engine binds KV pages and batch metadata behind it."""

    def attention(self, layer: int, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        """Write k, v [T, kv_heads, head_dim] to their slots, then attend causally with q [T, heads, head_dim].

        Rope is already applied; the scale is head_dim ** -0.5. Returns [T, heads, head_dim] in q's dtype.
        """


class ModelShape(Protocol):
    """What one must know of a model to plan its memory and its requests."""

    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    vocab_size: int
    max_position_embeddings: int
    dtype: torch.dtype


class CausalLM(ModelShape, Protocol):
    """A decoder-only language model. T is the number of rows of a flat, mixed batch.

    kernels: names whose products it computes with, which decides about the last bits.
    """

    kernels: str

    def forward(self, input_ids: torch.Tensor, positions: torch.Tensor, context: ForwardContext) -> torch.Tensor:
        """input_ids, positions [T] int64 -> final hidden states [T, hidden], normed."""

    def compute_logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """hidden [R, hidden] -> logits [R, vocab] float32."""
