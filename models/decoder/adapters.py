"""Adapters of the decoder: their matrices by layer, and what they add to the products of a forward pass."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import torch

from models.adapters.adapter import Adapter
from models.adapters.folder import StoredAdapter
from models.decoder.checkpoint import slot_names, slot_tensor
from models.decoder.config import DecoderConfig
from models.decoder.tensor_parallel import BY_COLUMNS, BY_ROWS
from models.decoder.virtual_rows import GivenRows
from models.errors import WeightsError
from models.interface.partition import Stage

PROJECTIONS: Final = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
LEAVE_KV_ALONE: Final = ("q_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
"""Projections of the last layer after which no K or V is computed."""


@dataclass(frozen=True, slots=True)
class LowRank:
    """The change of one projection: y += factor * b (a x).

    a: [rank, inputs]. b: [outputs, rank].
    """

    a: torch.Tensor
    b: torch.Tensor
    factor: float

    def to(self, device: torch.device) -> "LowRank":
        """Return the change with its matrices on `device`."""
        return LowRank(self.a.to(device), self.b.to(device), self.factor)


AdapterLayer = Mapping[str, LowRank]
"""The changes of a layer, by the names of PROJECTIONS."""


@dataclass(frozen=True, slots=True)
class DecoderAdapter:
    """An adapter of the decoder. layers: those of this process."""

    about: Adapter
    layers: Sequence[AdapterLayer]


def fit_adapter(
    stored: StoredAdapter, config: DecoderConfig, stage: Stage, dtype: torch.dtype, *, rank: int = 0, ranks: int = 1
) -> DecoderAdapter:
    """Return the part of an adapter that one process computes, in `dtype`.

    config: shape of the whole model. stage: the layers of this process. rank: index among the `ranks` that divide them.

    Raise WeightsError with the projection for matrices that do not fit the model.
    """
    layers: list[dict[str, LowRank]] = [{} for _ in stage.layers]
    last, changes_kv = config.num_layers - 1, False
    for change in stored.changes:
        for slot in slot_names(f"{change.module}.weight", config):
            index, name = int(slot.split(".")[-4]), slot.split(".")[-2]
            if index > last:
                raise WeightsError(f"the adapter {stored.name} changes layer {index}, but the model has {last + 1}")
            b = slot_tensor(slot, _checked(stored, change.module, change.b, 0, _rows(change.module, config)), config)
            a = _checked(stored, change.module, change.a, 1, _columns(name, config))
            changes_kv = changes_kv or index < last or name not in LEAVE_KV_ALONE
            if index not in stage.layers:
                continue
            b = b.chunk(ranks, dim=0)[rank] if slot.endswith(BY_ROWS) else b
            a = a.chunk(ranks, dim=1)[rank] if slot.endswith(BY_COLUMNS) else a
            fitted = LowRank(a.to(dtype).contiguous(), b.to(dtype).contiguous(), change.factor)
            layers[index - stage.layers.start][name] = fitted
    return DecoderAdapter(Adapter(stored.name, stored.digest, changes_kv, stored.invocation), layers)


def _checked(stored: StoredAdapter, module: str, matrix: torch.Tensor, dim: int, size: int) -> torch.Tensor:
    if matrix.shape[dim] != size:
        kind = "inputs" if dim else "outputs"
        raise WeightsError(
            f"the adapter {stored.name} does not fit the model: {module} has {size} {kind}, not {matrix.shape[dim]}"
        )
    return matrix


def _rows(module: str, config: DecoderConfig) -> int:
    q, kv, inner = config.num_heads * config.head_dim, config.num_kv_heads * config.head_dim, config.intermediate_size
    sizes = {"q_proj": q, "k_proj": kv, "v_proj": kv, "qkv_proj": q + 2 * kv, "gate_proj": inner, "up_proj": inner}
    sizes |= {"gate_up_proj": 2 * inner, "o_proj": config.hidden_size, "down_proj": config.hidden_size}
    return sizes[module.split(".")[-1]]


def _columns(name: str, config: DecoderConfig) -> int:
    sizes = {"o_proj": config.num_heads * config.head_dim, "down_proj": config.intermediate_size}
    return sizes.get(name, config.hidden_size)


class LayerChanges:
    """Changes that adapters make to one layer, for the rows of a forward pass that have one."""

    def __init__(
        self, layer: int, parts: Sequence[tuple[AdapterLayer, torch.Tensor]], given: Sequence[GivenRows] = ()
    ) -> None:
        """Create the changes.

        layer: index of the layer among those of this process.
        parts: an adapter's layer, and the indices [R] int64 of its rows.
        given: rows of prompt adapters.
        """
        self._layer = layer
        self._parts = parts
        self._given = given

    def replace_kv(self, k: torch.Tensor, v: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return k and v [T, kv_heads, head_dim] with those that prompt adapters give."""
        for rows in self._given:
            k, v = rows.replace_kv(self._layer, k, v)
        return k, v

    def add(self, x: torch.Tensor, names: Sequence[str], sizes: Sequence[int], outputs: torch.Tensor) -> None:
        """Add to the merged `outputs` [T, sum(sizes)] of the projections `names`, which multiply x [T, inputs]."""
        for layer, rows in self._parts:
            taken, first = x.index_select(0, rows), 0
            for name, size in zip(names, sizes, strict=True):
                if (change := layer.get(name)) is not None:
                    added = (taken @ change.a.T) @ change.b.T * change.factor
                    outputs[:, first : first + size].index_add_(0, rows, added)
                first += size
