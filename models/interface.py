"""The complete interface between the engine and a model."""

from typing import Protocol

import torch

from models.attention_call import AttentionCall


class ForwardContext(Protocol):
    """One forward pass from the model's point of view. The implementation binds KV pages and batch metadata."""

    def attention(
        self, index: int, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, sinks: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Write k [T, kv_heads, k_dim] and v [T, kv_heads, v_dim] to their slots, then attend with q [T, heads, k_dim].

        index: place of the call in the forward pass, counted from 0. `ModelShape.attention[index]` states its rules.
        sinks: [heads], one logit per head; given exactly if the call has sinks.

        Positions have already been applied to q and k. Return [T, heads, v_dim] in q's dtype.
        """


class ModelShape(Protocol):
    """Properties of a model that determine its memory and its requests.

    attention: the attention calls of a forward pass, in order.
    """

    attention: tuple[AttentionCall, ...]
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
