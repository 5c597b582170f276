"""The oracle: the plainest paged attention, one sequence and one row at a time in float32, on any device."""

from typing import ClassVar

import torch

from cache_tiers.layout.kv_pool import KVPool
from cache_tiers.layout.layout import PoolOrder
from engine.attention.backend import ALL_CALLS, AttentionMetadata, AttentionSpec, AttentionSupport, Feature
from models.interface.attention_call import AttentionCall
from models.interface.causal_lm import ForwardContext


class ReferenceAttention:
    """The backend that every other one is tested against, and that serves where no other backend can."""

    numerics: ClassVar[str] = "reference-1"
    support: ClassVar[AttentionSupport] = AttentionSupport(features=(Feature.ATTENTION, *ALL_CALLS))
    order: ClassVar[PoolOrder] = PoolOrder.BLOCKS

    def __init__(self, spec: AttentionSpec, pool: KVPool, *, check: bool = False) -> None:  # noqa: ARG002
        self._spec = spec
        self._pool = pool

    def begin_step(self, metadata: AttentionMetadata) -> ForwardContext:
        """Return the context of the step; this backend prepares nothing."""
        return _ReferenceContext(self._spec, self._pool, metadata)


class _ReferenceContext:
    def __init__(self, spec: AttentionSpec, pool: KVPool, metadata: AttentionMetadata) -> None:
        self._spec = spec
        self._pool = pool
        self._metadata = metadata

    def attention(
        self, index: int, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, sinks: torch.Tensor | None = None
    ) -> torch.Tensor:
        """See `models.interface.causal_lm.ForwardContext`."""
        call, (key_pages, value_pages) = self._spec.calls[index], self._pool.pages[index]
        block_size = self._spec.block_size
        slots = self._metadata.slot_mapping
        key_pages[slots // block_size, :, slots % block_size] = k
        value_pages[slots // block_size, :, slots % block_size] = v
        out = q.new_empty(len(q), call.heads, call.v_dim)
        row = 0
        for query_len, seq_len, table in zip(
            self._metadata.query_lens, self._metadata.seq_lens, self._metadata.block_tables, strict=True
        ):
            blocks = torch.tensor(table[: -(-seq_len // block_size)], device=q.device)
            # [blocks, kv_head, slot, dim] -> [kv_head, position, dim], cut at the length: stale slots are gone.
            keys, values = (
                pages[blocks].transpose(0, 1).flatten(1, 2)[:, :seq_len].float() for pages in (key_pages, value_pages)
            )
            for position in range(seq_len - query_len, seq_len):
                seen = slice(call.first_visible(position), position + 1)
                out[row] = _attend(call, q[row], keys[:, seen], values[:, seen], sinks)
                row += 1
        return out


def _attend(
    call: AttentionCall, q: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, sinks: torch.Tensor | None
) -> torch.Tensor:
    """Attend with q [heads, k_dim] over keys [kv_heads, n, k_dim] and values [kv_heads, n, v_dim]: [heads, v_dim]."""
    grouped = q.float().view(call.kv_heads, call.group, call.k_dim)
    scores = grouped @ keys.transpose(1, 2) * call.scale
    if call.softcap:
        scores = torch.tanh(scores / call.softcap) * call.softcap
    if sinks is not None:
        scores = torch.cat((scores, sinks.float().view(call.kv_heads, call.group, 1)), dim=-1)
    weights = torch.softmax(scores, dim=-1)[..., : keys.shape[1]]
    return (weights @ values).view(call.heads, call.v_dim).to(q.dtype)
