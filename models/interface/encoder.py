"""The complete interface between the engine and an encoder."""

from collections.abc import Sequence
from typing import Protocol

import torch

from models.interface.causal_lm import MatrixPacker


class Encoder(Protocol):
    """A network in which each token of a text attends to all of it. Nothing of a text is kept between calls.

    max_position_embeddings: tokens of the longest text.
    hidden_size: width of a hidden state.
    kernels: name of the library that computes its matrix products, which determines the last bits.
    separator: id of the token between the two texts of a pair, behind which tokens are of the second kind; None if the
        network does not tell them apart.
    has_label: whether `label` is possible.
    nbytes: bytes of the weights.
    """

    vocab_size: int
    max_position_embeddings: int
    hidden_size: int
    kernels: str
    separator: int | None
    has_label: bool
    nbytes: int

    def forward(self, ids: torch.Tensor, kinds: torch.Tensor, lengths: Sequence[int]) -> torch.Tensor:
        """Compute the final hidden states [T, hidden] float32 of several texts, one after the other.

        A text has the same bits alone and among others, if the products of the rows have.

        ids, kinds: [T] int64. A kind is 1 for a token of the second text of a pair, else 0.
        lengths: tokens of each text, T together.
        """

    def label(self, hidden: torch.Tensor) -> torch.Tensor:
        """Compute the logit [1] float32 of the one label, from the final hidden states [L, hidden] of one text."""

    def pack_matrices(self, packer: MatrixPacker) -> None:
        """Replace the matrices by packed ones, and free each one as soon as it is packed."""
