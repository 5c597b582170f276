"""What an attention backend is told, and what it promises. A new backend is one class and one line in `selector`."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from importlib.util import find_spec
from typing import ClassVar, Protocol, runtime_checkable

import torch

from cache_tiers.layout import PoolOrder
from models.interface import ForwardContext


@dataclass(frozen=True, slots=True)
class AttentionSpec:
    """What a backend must be able to serve. `num_heads` is a multiple of `num_kv_heads`, and 0 for a model without
    attention; head_dim is in elements, block_size in tokens."""

    device_type: str
    dtype: torch.dtype
    num_heads: int
    num_kv_heads: int
    head_dim: int
    block_size: int


class Feature(Enum):
    """What not every backend has.

    ATTENTION: it attends; without it, it serves the models that do not.
    GRAPHS: its decodes can be recorded in a graph of the device (`GraphedAttention`).
    """

    ATTENTION = "attention"
    GRAPHS = "graphs"


@dataclass(frozen=True, slots=True)
class AttentionSupport:
    """What a backend declares; an empty tuple means any. block_multiple: of which block sizes are a multiple.
    max_group: most query heads that share a KV head; 0 means any number. packages: that must be installed."""

    features: tuple[Feature, ...] = (Feature.ATTENTION,)
    devices: tuple[str, ...] = ()
    dtypes: tuple[torch.dtype, ...] = ()
    head_dims: tuple[int, ...] = ()
    block_multiple: int = 1
    max_block_size: int = 0
    max_group: int = 0
    packages: tuple[str, ...] = ()

    def unsupported_reason(self, spec: AttentionSpec) -> str | None:
        """None if `spec` can be served, else a few words that say why not."""
        if (Feature.ATTENTION in self.features) != (spec.num_heads > 0):
            return "only for models without attention" if spec.num_heads else "the model has no attention"
        if self.devices and spec.device_type not in self.devices:
            return f"does not run on {spec.device_type}"
        if self.dtypes and spec.dtype not in self.dtypes:
            return f"{_name(spec.dtype)} is not one of {', '.join(map(_name, self.dtypes))}"
        if self.head_dims and spec.head_dim not in self.head_dims:
            return f"head size {spec.head_dim} is not one of {', '.join(map(str, self.head_dims))}"
        if spec.block_size % self.block_multiple:
            return f"blocks of {spec.block_size} tokens are no multiple of {self.block_multiple}"
        if self.max_block_size and spec.block_size > self.max_block_size:
            return f"blocks of {spec.block_size} tokens are larger than {self.max_block_size}"
        if self.max_group and spec.num_heads > self.max_group * spec.num_kv_heads:
            return f"more than {self.max_group} query heads share a KV head"
        missing = [name for name in self.packages if find_spec(name) is None]
        return f"{', '.join(missing)} is not installed" if missing else None


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


@dataclass(frozen=True, slots=True)
class AttentionMetadata:
    """One mixed batch of B sequences, T rows: sequence i owns the next `query_lens[i]` rows of the flat batch.

    seq_lens: keys that sequence i sees in all, those of this step included; its rows are its last `query_lens[i]`.
    block_tables: block j of sequence i holds its positions [j * block_size, (j + 1) * block_size); it may be longer
    than `seq_lens` needs.
    slot_mapping: [T] int64, where each row's K and V go: block id * block_size + slot.
    """

    query_lens: tuple[int, ...]
    seq_lens: tuple[int, ...]
    block_tables: tuple[Sequence[int], ...]
    slot_mapping: torch.Tensor


class AttentionBackend(Protocol):
    """Attention over the paged KV cache, a tensor of `BlockLayout.pool_shape` in the backend's own order.

    Invariant that every backend holds: whatever stale bytes lie in slots beyond a sequence's length (a recycled
    block may hold NaN or Inf), they never reach a result.
    """

    numerics: ClassVar[str]
    """Name and version: part of every block key, so a change of a bit in the results must change it."""

    support: ClassVar[AttentionSupport]

    order: ClassVar[PoolOrder]

    def __init__(self, spec: AttentionSpec, kv_cache: torch.Tensor, *, check: bool = False) -> None:
        """check: hold calls of the device's operators to their documented limits, for tests and debugging."""

    def begin_step(self, metadata: AttentionMetadata) -> ForwardContext:
        """Prepare what all layers share. The context is valid until the next `begin_step`."""


@runtime_checkable
class GraphedAttention(Protocol):
    """A backend whose decodes can be recorded once and replayed."""

    def decode_context(
        self, block_tables: torch.Tensor, slot_mapping: torch.Tensor, positions: torch.Tensor
    ) -> ForwardContext:
        """Of B sequences with one row each, all of length 1, to be recorded: a replay reads the tensors again, and is
        told the lengths. block_tables: [B, blocks] int32; slot_mapping, positions: [B] int64; all on the device."""
