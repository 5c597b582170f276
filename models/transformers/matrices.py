"""Packed matrices in the place of a network's linear layers."""

from collections.abc import Iterator
from typing import Any, Final

import torch
from torch import nn
from transformers import PreTrainedModel
from transformers.pytorch_utils import Conv1D

from models.interface.causal_lm import Matrix, MatrixPacker, MatrixRole
from models.transformers.experts import forget, pack_experts

_ROUTERS: Final = frozenset({"gate", "router", "shared_expert_gate"})
"""Names of linear layers that choose or weigh experts."""


def pack_network(network: PreTrainedModel, packer: MatrixPacker) -> None:
    """Let every plain linear layer of `network`, and all experts, multiply by packed matrices.

    Each matrix is freed as soon as it is packed. Layers of another dtype than the network stay as they are, and so do
    classes with a separate forward function. A tied embedding reads the rows of the packed head, if that keeps the
    values.
    """
    dtype, head, embedding = network.dtype, network.get_output_embeddings(), network.get_input_embeddings()
    is_tied = isinstance(embedding, nn.Embedding) and head is not None and embedding.weight is head.weight
    for name, layer in list(_linears(network, dtype)):
        role = MatrixRole.HEAD if layer is head else MatrixRole.ROUTER if name in _ROUTERS else MatrixRole.LAYER
        weight = layer.weight.T if isinstance(layer, Conv1D) else layer.weight
        matrix = packer.pack(weight, layer.bias, role)
        del weight
        _compute_with(layer, matrix, _LinearOfMatrix)
        if layer is head and is_tied and matrix.keeps_values:
            kind = type(embedding)
            # A subclass that scales the rows, as in Gemma, still does, since only its super class is replaced.
            bases = (_RowsOfMatrix,) if kind is nn.Embedding else (kind, _RowsOfMatrix)
            _compute_with(embedding, matrix, type(kind.__name__, bases, {}))
    pack_experts(network, packer, dtype)
    for parameter in network.parameters():
        # The last views of the mapped checkpoint would keep the pages of all freed matrices.
        parameter.data = parameter.data.clone()


def _linears(network: PreTrainedModel, dtype: torch.dtype) -> Iterator[tuple[str, Any]]:
    """Yield each plain linear layer of `dtype` once, with the last part of its name."""
    for path, module in network.named_modules():
        if type(module) in (nn.Linear, Conv1D) and module.weight.dtype == dtype:
            yield path.rpartition(".")[2], module


def _compute_with(module: Any, matrix: Matrix, kind: type[nn.Module]) -> None:
    """Turn `module`, wherever it is referred to, into one of `kind` that computes with `matrix`."""
    forget(module, "weight")
    module.matrix = matrix
    module.__class__ = kind


class _LinearOfMatrix(nn.Module):
    """Linear layer that multiplies by a packed matrix."""

    matrix: Matrix

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map x [..., depth] to [..., rows]."""
        return self.matrix(x)


class _RowsOfMatrix(nn.Embedding):
    """Embedding that reads the rows of a packed matrix."""

    matrix: Matrix

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """Look up the rows [..., width] of `input` [...]."""
        return self.matrix.row_values(input)
