"""Rows of prompt adapters, which stand before the rows of a prompt: their embeddings, or their K and V."""

from dataclasses import dataclass, replace

import torch

from models.adapters.adapter import Adapter
from models.adapters.prompts import StoredPrompt
from models.decoder.config import DecoderConfig
from models.errors import WeightsError
from models.interface.causal_lm import AdaptedRows
from models.interface.partition import Stage


@dataclass(frozen=True, slots=True)
class VirtualRows:
    """The part of a prompt adapter that one process computes.

    embeddings: [tokens, hidden]: inputs of the first layer. Zeros if K and V are given.
    kv: [layers, 2, tokens, kv_heads, head_dim]: K, to which no norm and no rotation is applied any more, and V; None if
        they are computed from the embeddings. Layers and heads are those of this process.
    """

    about: Adapter
    embeddings: torch.Tensor
    kv: torch.Tensor | None

    def to(self, device: torch.device) -> "VirtualRows":
        """Return the rows on `device`."""
        return replace(self, embeddings=self.embeddings.to(device), kv=None if self.kv is None else self.kv.to(device))


def fit_prompt(
    stored: StoredPrompt, config: DecoderConfig, stage: Stage, dtype: torch.dtype, *, rank: int = 0, ranks: int = 1
) -> VirtualRows:
    """Return the part of a prompt adapter that one process computes, in `dtype`.

    config: shape of the whole model. stage: the layers of this process. rank: index among the `ranks` that divide them.

    Raise WeightsError for rows that do not fit the model.
    """
    count, width = stored.rows.shape
    shape = (config.num_layers, 2, config.num_kv_heads, config.head_dim)
    expected = torch.Size(shape).numel() if stored.gives_kv else config.hidden_size
    if width != expected:
        raise WeightsError(
            f"the adapter {stored.name} does not fit the model: a virtual token has {expected} values, not {width}"
        )
    if count >= config.max_position_embeddings:
        raise WeightsError(
            f"the adapter {stored.name} does not fit the model: its {count} virtual tokens leave no room for a prompt "
            f"in the context of {config.max_position_embeddings} tokens"
        )
    about = Adapter(stored.name, stored.digest, changes_kv=True, num_virtual=count)
    if not stored.gives_kv:
        return VirtualRows(about, stored.rows.to(dtype) * config.given_factor(dtype), None)
    kv = stored.rows.view(count, *shape).permute(1, 2, 0, 3, 4)[stage.layers.start : stage.layers.stop]
    own = kv.chunk(ranks, dim=3)[rank].to(dtype).contiguous()
    return VirtualRows(about, torch.zeros(count, config.hidden_size, dtype=dtype), own)


class GivenRows:
    """Virtual rows of one adapter among the rows of a forward pass."""

    def __init__(self, virtual: VirtualRows, place: AdaptedRows, positions: torch.Tensor) -> None:
        """Place the rows. positions: [T] int64, of all rows of the pass."""
        self._virtual = virtual
        self._rows = place.rows
        # Virtual tokens are the first ones of their requests.
        self._tokens = positions.index_select(0, place.rows)

    def embed(self, x: torch.Tensor) -> None:
        """Write the inputs of the first layer to `x` [T, hidden]."""
        x.index_copy_(0, self._rows, self._virtual.embeddings.index_select(0, self._tokens))

    def replace_kv(self, layer: int, k: torch.Tensor, v: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return k and v [T, kv_heads, head_dim] of a layer of this process, with those that are given."""
        if self._virtual.kv is None:
            return k, v
        given_k, given_v = self._virtual.kv[layer].index_select(1, self._tokens)
        return k.index_copy(0, self._rows, given_k), v.index_copy(0, self._rows, given_v)
