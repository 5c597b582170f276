"""The oracle: the plainest paged attention, one sequence and one row at a time in float32, on any device."""

from typing import ClassVar

import torch

from cache_tiers.layout import PoolOrder
from engine.attention.backend import AttentionMetadata, AttentionSpec, AttentionSupport
from models.interface import ForwardContext


class ReferenceAttention:
    """Every other backend is tested against this one; it also serves where no other backend can."""

    numerics: ClassVar[str] = "reference-1"
    support: ClassVar[AttentionSupport] = AttentionSupport()
    order: ClassVar[PoolOrder] = PoolOrder.BLOCKS

    def __init__(self, spec: AttentionSpec, kv_cache: torch.Tensor, *, check: bool = False) -> None:  # noqa: ARG002
        self._spec = spec
        self._kv_cache = kv_cache

    def begin_step(self, metadata: AttentionMetadata) -> ForwardContext:
        """Return the context of the step; this backend prepares nothing."""
        return _ReferenceContext(self._spec, self._kv_cache, metadata)


class _ReferenceContext:
    def __init__(self, spec: AttentionSpec, kv_cache: torch.Tensor, metadata: AttentionMetadata) -> None:
        self._spec = spec
        self._kv_cache = kv_cache
        self._metadata = metadata

    def attention(self, layer: int, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        """See `models.interface.ForwardContext`."""
        pages = self._kv_cache[:, layer]
        block_size = pages.shape[3]
        slots = self._metadata.slot_mapping
        pages[slots // block_size, 0, :, slots % block_size] = k
        pages[slots // block_size, 1, :, slots % block_size] = v
        out = torch.empty_like(q)
        row = 0
        for query_len, seq_len, table in zip(
            self._metadata.query_lens, self._metadata.seq_lens, self._metadata.block_tables, strict=True
        ):
            blocks = torch.tensor(table[: -(-seq_len // block_size)], device=q.device)
            # [blocks, 2, kv_head, slot, dim] -> [2, kv_head, position, dim], cut at the length: stale slots are gone.
            keys, values = pages[blocks].permute(1, 2, 0, 3, 4).flatten(2, 3)[:, :, :seq_len].float()
            for position in range(seq_len - query_len, seq_len):
                out[row] = self._attend(q[row], keys[:, : position + 1], values[:, : position + 1])
                row += 1
        return out

    def _attend(self, q: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        """q [heads, dim] over keys, values [kv_heads, n, dim] -> [heads, dim]."""
        grouped = q.float().view(self._spec.num_kv_heads, -1, self._spec.head_dim)
        scores = grouped @ keys.transpose(1, 2) * self._spec.head_dim**-0.5
        return (torch.softmax(scores, dim=-1) @ values).view_as(q).to(q.dtype)
