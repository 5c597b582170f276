"""The complete interface between the engine and a model."""

from typing import Protocol

import torch


class ForwardContext(Protocol):
    """One forward pass from the model's point of view. The implementation binds KV pages and batch metadata."""

    def attention(self, layer: int, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        """Write k, v [T, kv_heads, head_dim] to their slots, then attend causally with q [T, heads, head_dim].

        Rope has already been applied to q and k. The scale is head_dim ** -0.5. Return [T, heads, head_dim] in q's
        dtype.
        """


class ModelShape(Protocol):
    """Properties of a model that determine its memory and its requests."""

    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    vocab_size: int
    max_position_embeddings: int
    dtype: torch.dtype


class CausalLM(ModelShape, Protocol):
    """A decoder-only language model. T is the number of rows of a flat, mixed batch.

    kernels: name of the library that computes its matrix products, which determines the last bits.
    """

    kernels: str

    def forward(self, input_ids: torch.Tensor, positions: torch.Tensor, context: ForwardContext) -> torch.Tensor:
        """Compute the normalized final hidden states [T, hidden] of input_ids and positions, each [T] int64."""

    def compute_logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """Compute the logits [R, vocab] float32 of hidden states [R, hidden]."""
