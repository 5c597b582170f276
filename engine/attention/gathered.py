"""Paged attention in plain torch, designed for CPUs: gather a layer's pages, then two matrix products and a softmax.

Prompts are processed one sequence at a time, in tiles of queries. Each tile reads only the keys up to its own end.
Decodes (one row per sequence) are batched, padded to the longest sequence of their group. The query heads of a group
are folded into the query length, so K and V are never repeated. Large scratch buffers are allocated once, because a
fresh buffer per layer takes three times as long (page faults).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import torch

from cache_tiers.layout import PoolOrder
from engine.attention.backend import AttentionMetadata, AttentionSpec, AttentionSupport
from engine.attention.decode_groups import DecodeGroup, group_decodes
from engine.attention.scratch import Scratch
from models.interface import ForwardContext

QUERY_TILE: Final = 128
GATHER_BYTES: Final = 16 << 20
"""Maximum size of one decode group's gathered K and V, which should stay in the last-level cache until read."""


@dataclass(frozen=True, slots=True)
class _Prefill:
    """Rows [first_row, first_row + query_len) of one sequence.

    page_ids: [2 * kv_heads * blocks] int64, page indices for layer 0.
    """

    first_row: int
    query_len: int
    seq_len: int
    page_ids: torch.Tensor


@dataclass(frozen=True, slots=True)
class _Decode:
    """A group of n sequences with one row each.

    rows: [n] int64, rows of the flat batch; None if the group is the whole batch in order.
    page_ids: [2 * n * kv_heads * blocks] int64, page indices for layer 0.
    mask: [n * kv_heads, group, blocks * block_size], 0 or -inf.
    """

    rows: torch.Tensor | None
    count: int
    page_ids: torch.Tensor
    mask: torch.Tensor


class GatheredAttention:
    """Attention backend in plain torch. Matrix products accumulate in float32.

    Scores and softmax weights are rounded to the model's dtype.
    """

    numerics: ClassVar[str] = "torch-1"
    support: ClassVar[AttentionSupport] = AttentionSupport(
        devices=("cpu", "npu", "cuda"), dtypes=(torch.bfloat16, torch.float32)
    )
    order: ClassVar[PoolOrder] = PoolOrder.BLOCKS

    def __init__(self, spec: AttentionSpec, kv_cache: torch.Tensor, *, check: bool = False) -> None:  # noqa: ARG002
        self._heads = spec.num_kv_heads
        self._group = spec.num_heads // spec.num_kv_heads
        self._kv_cache = kv_cache
        self._block_size, self._dim = kv_cache.shape[4], kv_cache.shape[5]
        self._pages_per_block = kv_cache.shape[1] * 2 * self._heads
        self._device = kv_cache.device
        self._scratch = Scratch(kv_cache.dtype, self._device)
        self._causal = kv_cache.new_full((QUERY_TILE, QUERY_TILE), float("-inf")).triu_(1)
        self._kv_heads = torch.arange(self._heads, device=self._device)

    def begin_step(self, metadata: AttentionMetadata) -> ForwardContext:
        """Zero the blocks that this step starts, and compute the page ids and masks that all layers share."""
        self._clean_begun_blocks(metadata.slot_mapping)
        prefills: list[_Prefill] = []
        decode_rows: list[int] = []
        decodes: list[int] = []
        row = 0
        for index, query_len in enumerate(metadata.query_lens):
            if query_len == 1:
                decodes.append(index)
                decode_rows.append(row)
            else:
                prefills.append(self._prefill(metadata, index, row))
            row += query_len
        block_bytes = 2 * self._heads * self._block_size * self._dim * self._kv_cache.itemsize
        lengths = [metadata.seq_lens[i] for i in decodes]
        groups = group_decodes(lengths, self._block_size, GATHER_BYTES // block_bytes)
        return _GatheredContext(
            kv_cache=self._kv_cache,
            scratch=self._scratch,
            causal=self._causal,
            group=self._group,
            slot_rows=self._slot_rows(metadata.slot_mapping),
            prefills=prefills,
            decodes=[self._decode(metadata, group, decodes, decode_rows, row) for group in groups],
        )

    def _clean_begun_blocks(self, slots: torch.Tensor) -> None:
        """Zero every block whose first slot is written in this step.

        A recycled block may hold NaN or Inf, and a weight of 0 times Inf in V is NaN. A block is either filled from
        slot 0 or loaded whole. So every slot of every block in use is finite, and masking the scores is enough.
        """
        for block_id in (slots[slots % self._block_size == 0] // self._block_size).tolist():
            self._kv_cache[block_id].zero_()

    def _slot_rows(self, slots: torch.Tensor) -> torch.Tensor:
        """Convert [T] slots to [T * kv_heads] rows of the cache viewed as [-1, head_dim], for K of layer 0."""
        pages = (slots // self._block_size * self._pages_per_block)[:, None] + self._kv_heads
        return (pages * self._block_size + (slots % self._block_size)[:, None]).view(-1)

    def _page_ids(self, tables: torch.Tensor) -> torch.Tensor:
        """Convert [n, blocks] block ids to [2 * n * kv_heads * blocks] page indices for layer 0."""
        keys = (tables * self._pages_per_block)[:, None, :] + self._kv_heads[None, :, None]
        return torch.stack((keys, keys + self._heads)).view(-1)

    def _prefill(self, metadata: AttentionMetadata, index: int, first_row: int) -> _Prefill:
        seq_len = metadata.seq_lens[index]
        table = metadata.block_tables[index][: -(-seq_len // self._block_size)]
        return _Prefill(first_row, metadata.query_lens[index], seq_len, self._page_ids(self._ids([table])))

    def _decode(
        self, metadata: AttentionMetadata, group: DecodeGroup, decodes: list[int], rows: list[int], total_rows: int
    ) -> _Decode:
        """Prepare one decode group. `group.members` index `decodes` and `rows`.

        decodes: index of each decoding sequence in the batch.
        rows: row of each decoding sequence in the flat batch.
        """
        blocks = group.num_blocks
        tables: list[list[int]] = []
        for member in group.members:
            table = metadata.block_tables[decodes[member]]
            used = -(-metadata.seq_lens[decodes[member]] // self._block_size)
            # Padding points at the sequence's own first block, which is finite. The mask excludes it.
            tables.append([*table[:used], *[table[0]] * (blocks - used)])
        lengths = self._ids([metadata.seq_lens[decodes[member]] for member in group.members])
        beyond = torch.arange(blocks * self._block_size, device=self._device) >= lengths[:, None]
        mask = self._causal.new_zeros(beyond.shape).masked_fill_(beyond, float("-inf"))
        mask = mask[:, None, None].expand(-1, self._heads, self._group, -1).flatten(0, 1).contiguous()
        whole_batch = len(group.members) == total_rows
        selected = None if whole_batch else self._ids([rows[member] for member in group.members])
        return _Decode(selected, len(group.members), self._page_ids(self._ids(tables)), mask)

    def _ids(self, values: Sequence[int] | Sequence[Sequence[int]]) -> torch.Tensor:
        return torch.tensor(values, dtype=torch.int64, device=self._device)


@dataclass(frozen=True, slots=True)
class _GatheredContext:
    """State of one step, shared by all layers.

    scratch: holds "kv", the gathered pages, and "scores" and "weights" of one tile.
    """

    kv_cache: torch.Tensor
    scratch: Scratch
    causal: torch.Tensor
    group: int
    slot_rows: torch.Tensor
    prefills: list[_Prefill]
    decodes: list[_Decode]

    def attention(self, layer: int, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        """See `models.interface.ForwardContext`."""
        self._write(layer, k, v)
        out = torch.empty_like(q)
        for prefill in self.prefills:
            self._attend_prefill(layer, prefill, q, out)
        for decode in self.decodes:
            self._attend_decode(layer, decode, q, out)
        return out

    def _write(self, layer: int, k: torch.Tensor, v: torch.Tensor) -> None:
        heads, slots, dim = self.kv_cache.shape[3:]
        flat = self.kv_cache.view(-1, dim)
        first_row = layer * 2 * heads * slots
        flat[first_row:].index_copy_(0, self.slot_rows, k.reshape(-1, dim))
        flat[first_row + heads * slots :].index_copy_(0, self.slot_rows, v.reshape(-1, dim))

    def _gather(self, layer: int, page_ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Gather the K and V of the pages, each [sequences * kv_heads * blocks * block_size, head_dim]."""
        heads, slots, dim = self.kv_cache.shape[3:]
        pages = self.kv_cache.view(-1, slots * dim)[layer * 2 * heads :]
        gathered = self.scratch.get("kv", (len(page_ids), slots * dim))
        torch.index_select(pages, 0, page_ids, out=gathered)
        keys, values = gathered.view(2, -1, dim)
        return keys, values

    def _attend_prefill(self, layer: int, prefill: _Prefill, q: torch.Tensor, out: torch.Tensor) -> None:
        heads, dim = self.kv_cache.shape[3], self.kv_cache.shape[5]
        keys, values = (x.view(heads, -1, dim) for x in self._gather(layer, prefill.page_ids))
        context_len = prefill.seq_len - prefill.query_len
        done = 0
        while done < prefill.query_len:
            # Tiles end at fixed absolute positions, so most of them do not depend on how the prompt was chunked.
            end = min((context_len + done) // QUERY_TILE * QUERY_TILE + QUERY_TILE, prefill.seq_len)
            size = end - context_len - done
            rows = slice(prefill.first_row + done, prefill.first_row + done + size)
            tile = q[rows].view(size, heads, self.group, dim).permute(1, 2, 0, 3).reshape(heads, -1, dim)
            scores = self.scratch.get("scores", (heads, self.group * size, end))
            torch.baddbmm(scores, tile, keys[:, :end].transpose(1, 2), beta=0, alpha=dim**-0.5, out=scores)
            scores.view(heads, self.group, size, end)[..., end - size :] += self.causal[:size, :size]
            mixed = torch.bmm(self._softmax(scores), values[:, :end])
            out[rows] = mixed.view(heads, self.group, size, dim).permute(2, 0, 1, 3).reshape(size, -1, dim)
            done += size

    def _attend_decode(self, layer: int, decode: _Decode, q: torch.Tensor, out: torch.Tensor) -> None:
        heads, dim = self.kv_cache.shape[3], self.kv_cache.shape[5]
        keys, values = (x.view(decode.count * heads, -1, dim) for x in self._gather(layer, decode.page_ids))
        queries = (q if decode.rows is None else q[decode.rows]).reshape(-1, self.group, dim)
        scores = self.scratch.get("scores", tuple(decode.mask.shape))
        torch.baddbmm(decode.mask, queries, keys.transpose(1, 2), alpha=dim**-0.5, out=scores)
        mixed = torch.bmm(self._softmax(scores), values).view(decode.count, -1, dim)
        if decode.rows is None:
            out.copy_(mixed)
        else:
            out[decode.rows] = mixed

    def _softmax(self, scores: torch.Tensor) -> torch.Tensor:
        """Compute the softmax of `scores`. The kernel computes in float32 for every input and output dtype."""
        weights = self.scratch.get("weights", tuple(scores.shape))
        return torch.softmax(scores, dim=-1, out=weights)
