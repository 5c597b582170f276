"""The complete interface between the engine and a model."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol, runtime_checkable

import torch

from models.interface.attention_call import AttentionCall


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


@dataclass(frozen=True, slots=True)
class AdaptedRows:
    """Rows of a forward pass that one adapter changes.

    adapter: digest of its content.
    rows: [R] int64, indices of the rows, on the model's device. A prompt adapter changes the rows of its virtual
        tokens, which are the first ones of a request and have placeholders as ids.
    """

    adapter: str
    rows: torch.Tensor


class ModelShape(Protocol):
    """Properties of a model that determine its memory and its requests.

    attention: the attention calls of a forward pass, in order.
    """

    attention: tuple[AttentionCall, ...]
    vocab_size: int
    max_position_embeddings: int
    dtype: torch.dtype


class CausalLM(ModelShape, Protocol):
    """A decoder-only language model, or one stage of it. T is the number of rows of a flat, mixed batch.

    kernels: name of the library that computes its matrix products, which determines the last bits.
    """

    kernels: str

    def forward(self, inputs: torch.Tensor, positions: torch.Tensor, context: ForwardContext, /) -> torch.Tensor:
        """Compute the final hidden states [T, hidden], normalized, or those for the next stage.

        inputs: token ids [T] int64; after the first stage, the hidden states of the stage before, which may be
            overwritten.
        positions: [T] int64.
        """

    def compute_logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """Compute the logits [R, vocab] float32 of hidden states [R, hidden]."""


@runtime_checkable
class Adaptable(CausalLM, Protocol):
    """A CausalLM that computes adapters."""

    def forward(
        self,
        inputs: torch.Tensor,
        positions: torch.Tensor,
        context: ForwardContext,
        /,
        adapted: Sequence[AdaptedRows] = (),
    ) -> torch.Tensor:
        """See `CausalLM`. adapted: the rows of each adapter, which no two adapters share."""


class MatrixRole(Enum):
    """Role of a matrix in a network, which decides how precise it must stay."""

    LAYER = auto()
    HEAD = auto()
    ROUTER = auto()


class Matrix(Protocol):
    """A packed matrix [rows, depth], with its bias if it has one.

    keeps_values: whether the values are those that were packed, so that `row_values` returns them.
    """

    keeps_values: bool

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """Map x [..., depth] to [..., rows]. An output depends only on its own row of x."""

    def row_values(self, indices: torch.Tensor) -> torch.Tensor:
        """Return the rows [..., depth] of the matrix at `indices` [...], int64."""


class MatrixPacker(Protocol):
    """Maker of packed matrices. name: identifies the products' arithmetic, which determines the last bits."""

    name: str

    def pack(self, weight: torch.Tensor, bias: torch.Tensor | None, role: MatrixRole) -> Matrix:
        """Pack weight [rows, depth] and bias [rows]. The packed matrix refers to neither of them."""


@runtime_checkable
class HasMatrices(Protocol):
    """A CausalLM in plain torch, whose matrices can be replaced by packed ones."""

    def pack_matrices(self, packer: MatrixPacker) -> None:
        """Replace the matrices by packed ones, and free each one as soon as it is packed.

        Raise UnsupportedModelError if the network cannot be computed without its plain matrices.
        """
