"""Paged attention in plain torch, designed for CPUs: gather a call's pages, then two matrix products and a softmax.

Prompts are processed one sequence at a time, in tiles of queries. Each tile reads only the keys that it may see.
Decodes (one row per sequence) are batched, padded to the longest sequence of their group. The query heads of a group
are folded into the query length, so K and V are never repeated. Large scratch buffers are allocated once, because a
fresh buffer per layer would cost page faults.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch

from cache_tiers.layout.kv_pool import KVPool
from cache_tiers.layout.layout import PoolOrder
from engine.attention.backend import ALL_CALLS, AttentionMetadata, AttentionSpec, AttentionSupport, Feature
from engine.attention.gathered_plan import (
    QUERY_TILE,
    Decode,
    GatherPlan,
    GatherPlanner,
    PageIds,
    Prefill,
    page_rows,
    shared_plan_key,
)
from models.interface.attention_call import AttentionCall
from models.interface.causal_lm import ForwardContext


class Scratch:
    """Buffers of one dtype on one device, for one owner on one thread.

    The next `get` of a name reuses the memory of the previous one.
    """

    def __init__(self, dtype: torch.dtype, device: torch.device) -> None:
        self._dtype = dtype
        self._device = device
        self._buffers: dict[str, torch.Tensor] = {}

    def get(self, name: str, shape: tuple[int, ...]) -> torch.Tensor:
        """Return a contiguous tensor of `shape` with undefined contents."""
        size = math.prod(shape)
        buffer = self._buffers.get(name)
        if buffer is None or buffer.numel() < size:
            # 50% headroom: a context that grows block by block must not reallocate every time.
            buffer = torch.empty(size + size // 2, dtype=self._dtype, device=self._device)
            self._buffers[name] = buffer
        return buffer[:size].view(shape)


class GatheredAttention:
    """Attention backend in plain torch. Matrix products accumulate in float32.

    Scores and softmax weights are rounded to the model's dtype.
    """

    numerics: ClassVar[str] = "torch-1"
    support: ClassVar[AttentionSupport] = AttentionSupport(
        features=(Feature.ATTENTION, *ALL_CALLS),
        devices=("cpu", "npu", "cuda"),
        dtypes=(torch.bfloat16, torch.float32),
    )
    order: ClassVar[PoolOrder] = PoolOrder.BLOCKS

    def __init__(self, spec: AttentionSpec, pool: KVPool, *, check: bool = False) -> None:  # noqa: ARG002
        self._calls = spec.calls
        self._keys = [shared_plan_key(call) for call in spec.calls]
        self._planners = {key: GatherPlanner(key, pool) for key in self._keys}
        self._pool = pool
        self._rows = [(page_rows(keys), page_rows(values)) for keys, values in pool.pages]
        self._scratch = Scratch(spec.dtype, pool.tensor.device)
        self._causal = pool.tensor.new_full((QUERY_TILE, QUERY_TILE), float("-inf")).triu_(1)

    def begin_step(self, metadata: AttentionMetadata) -> ForwardContext:
        """Zero the blocks that this step starts, and compute the page ids and masks that equal calls share."""
        block_size = self._pool.layout.block_size
        self._clean_begun_blocks(metadata.slot_mapping)
        plans = {key: planner.plan(metadata) for key, planner in self._planners.items()}
        return _GatheredContext(
            calls=self._calls,
            plans=[plans[key] for key in self._keys],
            pages=self._pool.pages,
            page_rows=self._rows,
            blocks=metadata.slot_mapping // block_size,
            slots=metadata.slot_mapping % block_size,
            scratch=self._scratch,
            causal=self._causal,
        )

    def _clean_begun_blocks(self, slots: torch.Tensor) -> None:
        """Zero every block whose first slot is written in this step.

        A recycled block may hold NaN or Inf, and a weight of 0 times Inf in V is NaN. A block is either filled from
        slot 0 or loaded whole. So every slot of every block in use is finite, and masking the scores is enough.
        """
        block_size = self._pool.layout.block_size
        for block_id in (slots[slots % block_size == 0] // block_size).tolist():
            self._pool.blocks[block_id].zero_()


@dataclass(frozen=True, slots=True, kw_only=True)
class _GatheredContext:
    """State of one step, shared by all calls.

    plans, pages, page_rows: by call.
    blocks, slots: [T] int64, the block of each row's K and V and the slot in it.
    scratch: holds "keys" and "values", the gathered pages, and "scores" and "weights" of one tile.
    """

    calls: Sequence[AttentionCall]
    plans: Sequence[GatherPlan]
    pages: Sequence[tuple[torch.Tensor, torch.Tensor]]
    page_rows: Sequence[tuple[torch.Tensor, torch.Tensor]]
    blocks: torch.Tensor
    slots: torch.Tensor
    scratch: Scratch
    causal: torch.Tensor

    def attention(
        self, index: int, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, sinks: torch.Tensor | None = None
    ) -> torch.Tensor:
        """See `models.interface.causal_lm.ForwardContext`."""
        call = self.calls[index]
        for pages, new in zip(self.pages[index], (k, v), strict=True):
            pages.transpose(1, 2).index_put_((self.blocks, self.slots), new)
        out = q.new_empty(len(q), call.heads, call.v_dim)
        for prefill in self.plans[index].prefills:
            self._attend_prefill(index, prefill, q, sinks, out)
        for decode in self.plans[index].decodes:
            self._attend_decode(index, decode, q, sinks, out)
        return out

    def _gather(self, index: int, ids: PageIds) -> tuple[torch.Tensor, torch.Tensor]:
        """Gather the K and V of the pages, each [sequences * kv_heads * blocks, block_size * dim]."""
        keys, values = self.page_rows[index]
        found_keys = self.scratch.get("keys", (len(ids.keys), keys.shape[1]))
        found_values = self.scratch.get("values", (len(ids.values), values.shape[1]))
        torch.index_select(keys, 0, ids.keys, out=found_keys)
        torch.index_select(values, 0, ids.values, out=found_values)
        return found_keys, found_values

    def _attend_prefill(
        self, index: int, prefill: Prefill, q: torch.Tensor, sinks: torch.Tensor | None, out: torch.Tensor
    ) -> None:
        call = self.calls[index]
        heads, group = call.kv_heads, call.group
        keys, values = self._gather(index, prefill.page_ids)
        keys, values = keys.view(heads, -1, call.k_dim), values.view(heads, -1, call.v_dim)
        for tile in prefill.tiles:
            size, seen = tile.rows.stop - tile.rows.start, tile.keys.stop - tile.keys.start
            queries = q[tile.rows].view(size, heads, group, -1).permute(1, 2, 0, 3).reshape(heads, -1, call.k_dim)
            scores = self.scratch.get("scores", (heads, group * size, seen))
            self._score(call, queries, keys[:, tile.keys], scores)
            by_query = scores.view(heads, group, size, seen)
            if tile.mask is not None:
                by_query += tile.mask
            else:
                by_query[..., seen - size :] += self.causal[:size, :size]
            mixed = torch.bmm(self._softmax(scores), values[:, tile.keys])
            if sinks is not None:
                mixed *= _kept(scores, sinks.view(heads, group, 1).expand(-1, -1, size).reshape(heads, -1))
            out[tile.rows] = mixed.view(heads, group, size, -1).permute(2, 0, 1, 3).reshape(size, -1, call.v_dim)

    def _attend_decode(
        self, index: int, decode: Decode, q: torch.Tensor, sinks: torch.Tensor | None, out: torch.Tensor
    ) -> None:
        call = self.calls[index]
        keys, values = self._gather(index, decode.page_ids)
        keys = keys.view(decode.count * call.kv_heads, -1, call.k_dim)
        values = values.view(decode.count * call.kv_heads, -1, call.v_dim)
        queries = (q if decode.rows is None else q[decode.rows]).reshape(-1, call.group, call.k_dim)
        scores = self.scratch.get("scores", tuple(decode.mask.shape))
        if call.softcap:
            self._score(call, queries, keys, scores)
            scores += decode.mask
        else:
            torch.baddbmm(decode.mask, queries, keys.transpose(1, 2), alpha=call.scale, out=scores)
        mixed = torch.bmm(self._softmax(scores), values)
        if sinks is not None:
            mixed *= _kept(scores, sinks.view(call.kv_heads, call.group).repeat(decode.count, 1))
        mixed = mixed.view(decode.count, call.heads, call.v_dim)
        if decode.rows is None:
            out.copy_(mixed)
        else:
            out[decode.rows] = mixed

    def _score(self, call: AttentionCall, queries: torch.Tensor, keys: torch.Tensor, scores: torch.Tensor) -> None:
        """Compute unmasked scores of queries [batch, n, k_dim] with keys [batch, m, k_dim] into [batch, n, m]."""
        alpha = call.scale / call.softcap if call.softcap else call.scale
        torch.baddbmm(scores, queries, keys.transpose(1, 2), beta=0, alpha=alpha, out=scores)
        if call.softcap:
            scores.tanh_().mul_(call.softcap)

    def _softmax(self, scores: torch.Tensor) -> torch.Tensor:
        """Compute the softmax of `scores`. The kernel computes in float32 for every input and output dtype."""
        weights = self.scratch.get("weights", tuple(scores.shape))
        return torch.softmax(scores, dim=-1, out=weights)


def _kept(scores: torch.Tensor, sinks: torch.Tensor) -> torch.Tensor:
    """Return the part of each row's softmax that its sink leaves to the keys, [batch, n, 1].

    sinks: [batch, n], one logit per row of scores [batch, n, m].
    """
    return torch.sigmoid(torch.logsumexp(scores.float(), dim=-1) - sinks.float()).unsqueeze(-1).to(scores.dtype)
