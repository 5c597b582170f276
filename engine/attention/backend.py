"""What an attention backend is told, and what it promises. A new backend is one class and one line in `selector`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import torch

from models.interface import ForwardContext


@dataclass(frozen=True, slots=True)
class AttentionSpec:
    """What a backend must be able to serve. `num_heads` is a multiple of `num_kv_heads`; head_dim is in elements."""

    device_type: str
    dtype: torch.dtype
    num_heads: int
    num_kv_heads: int
    head_dim: int


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
    """Attention over the paged KV cache, a tensor [num_blocks, layer, 2 (K, V), kv_head, slot, head_dim].

    Invariant that every backend holds: whatever stale bytes lie in slots beyond a sequence's length (a recycled
    block may hold NaN or Inf), they never reach a result.
    """

    numerics: ClassVar[str]
    """Name and version: part of every block key, so a change of a bit in the results must change it."""

    def __init__(self, spec: AttentionSpec, kv_cache: torch.Tensor) -> None: ...

    @staticmethod
    def unsupported_reason(spec: AttentionSpec) -> str | None:
        """None if the backend can serve `spec`, else a sentence that says why not."""

    def begin_step(self, metadata: AttentionMetadata) -> ForwardContext:
        """Prepare what all layers share. The context is valid until the next `begin_step`."""
