"""Paged attention on an Ascend NPU: one fused operator for prompts, chunks, decodes and any mix of them.

The operator is npu_fused_infer_attention_score in layout TND: the rows of all sequences are concatenated, query ends
are a running sum, and keys are addressed through a block table. The shared 2048 x 2048 mask makes attention causal,
aligned to the lower right corner (sparse mode 3). Operators are called through `torch.ops.npu`, which is the same
object with and without torch_npu.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar, Final

import numpy as np
import torch

from cache_tiers.layout.kv_pool import KVPool
from cache_tiers.layout.layout import PoolOrder
from engine.attention import npu_limits as limits
from engine.attention.backend import AttentionMetadata, AttentionSpec, AttentionSupport, Feature
from engine.device.pinned_copy import upload
from models.interface.attention_call import AttentionCall
from models.interface.causal_lm import ForwardContext

CAUSAL: Final = 3
"""Sparse mode in which the last query attends to all keys, and each earlier query to one fewer."""


class NpuAttention:
    """Attention backend for Ascend NPUs. The operator chooses the precision of scores (float32 internally)."""

    numerics: ClassVar[str] = "npu-1"
    support: ClassVar[AttentionSupport] = AttentionSupport(
        features=(Feature.ATTENTION, Feature.GRAPHS),
        devices=("npu",),
        dtypes=(torch.bfloat16,),
        head_dims=limits.HEAD_DIMS,
        block_multiple=limits.BLOCK_MULTIPLE,
        max_block_size=limits.MAX_BLOCK_SIZE,
        max_group=limits.MAX_GROUP,
    )
    order: ClassVar[PoolOrder] = PoolOrder.LAYERS

    def __init__(self, spec: AttentionSpec, pool: KVPool, *, check: bool = False) -> None:
        self._calls = spec.calls
        self._block_size = spec.block_size
        self._pool = pool
        self._check = check
        side = (limits.MASK_SIDE, limits.MASK_SIDE)
        self._mask = torch.ones(side, dtype=torch.int8, device=pool.tensor.device).triu_(1)

    def begin_step(self, metadata: AttentionMetadata) -> ForwardContext:
        """Copy the block tables to the device. Lengths stay on the host, where the operator expects them."""
        used = [-(-length // self._block_size) for length in metadata.seq_lens]
        width = max(used)
        # Columns past a sequence's end are never read. Block 0 is always a valid id.
        lines = [
            [*table[:count], *[0] * (width - count)] for table, count in zip(metadata.block_tables, used, strict=True)
        ]
        tables = upload(np.array(lines, dtype=np.int32), self._mask.device)
        return self._context(tables, metadata.slot_mapping, metadata.query_lens, metadata.seq_lens)

    def decode_context(
        self,
        block_tables: torch.Tensor,
        slot_mapping: torch.Tensor,
        positions: torch.Tensor,  # noqa: ARG002
    ) -> ForwardContext:
        """See GraphedAttention. The operator expects lengths on the host, so each replay receives them."""
        ones = [1] * len(block_tables)
        return self._context(block_tables, slot_mapping, ones, ones)

    def _context(
        self, tables: torch.Tensor, slots: torch.Tensor, query_lens: Sequence[int], seq_lens: Sequence[int]
    ) -> ForwardContext:
        return _NpuContext(
            calls=self._calls,
            pool=self._pool,
            mask=self._mask,
            check=self._check,
            block_tables=tables,
            slots=slots,
            query_ends=list(accumulate(query_lens)),
            seq_lens=list(seq_lens),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _NpuContext:
    """State of one step, shared by all layers.

    query_ends: end of each sequence's rows in the flat batch.
    """

    calls: tuple[AttentionCall, ...]
    pool: KVPool
    mask: torch.Tensor
    check: bool
    block_tables: torch.Tensor
    slots: torch.Tensor
    query_ends: list[int]
    seq_lens: list[int]

    def attention(
        self,
        index: int,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        sinks: torch.Tensor | None = None,  # noqa: ARG002
    ) -> torch.Tensor:
        """See `models.interface.causal_lm.ForwardContext`. No call has sinks: `support` refuses them."""
        key_cache, value_cache = self.pool.pages[index]
        k, v = k.contiguous(), v.contiguous()
        if self.check:
            limits.check_scatter(k, v, key_cache, value_cache, self.slots)
        torch.ops.npu.npu_scatter_pa_kv_cache(k, v, key_cache, value_cache, self.slots, cache_mode="Norm")
        return self._attend(self.calls[index], q.contiguous(), key_cache.flatten(2), value_cache.flatten(2))

    def _attend(self, call: AttentionCall, q: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        """Run the fused operator for q [T, heads, head_dim].

        keys, values: [blocks, slot, kv_heads * head_dim].
        """
        block_size = keys.shape[1]
        if self.check:
            limits.check_attention(
                q,
                (keys, values),
                self.mask,
                self.block_tables,
                self.query_ends,
                self.seq_lens,
                num_kv_heads=call.kv_heads,
                block_size=block_size,
            )
        out: torch.Tensor = torch.ops.npu.npu_fused_infer_attention_score(
            q,
            keys,
            values,
            atten_mask=self.mask,
            actual_seq_lengths=self.query_ends,
            actual_seq_lengths_kv=self.seq_lens,
            block_table=self.block_tables,
            num_heads=q.shape[1],
            scale=call.scale,
            input_layout="TND",
            num_key_value_heads=call.kv_heads,
            sparse_mode=CAUSAL,
            block_size=block_size,
        )[0]
        return out
