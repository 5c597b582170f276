"""Paged attention on a CUDA GPU: a Triton kernel that reads blocks in place, for prompts, chunks and captured decodes.

Triton ships with torch's CUDA build. The kernels are imported only when they run, so that the selector can import this
module on any machine and report why the backend is unavailable.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
import torch

from cache_tiers.kv_pool import KVPool
from cache_tiers.layout import PoolOrder
from engine.attention.backend import AttentionMetadata, AttentionSpec, AttentionSupport, Feature
from engine.attention.tiles import Tiles, TileShape, cut_rows, decode_shape, num_splits, prompt_shape
from engine.upload import upload
from models.attention_call import AttentionCall
from models.interface import ForwardContext

PROMPTS: Final = (2, 4096)
"""Prompt lengths, in rows, to compile kernels for before the first request: one with split keys, one without."""


class CudaAttention:
    """Attention backend for CUDA GPUs. Matrix products accumulate in float32.

    Scores stay in float32. Softmax weights are rounded to the model's dtype.
    The number of key splits depends on the batch and the GPU, so the last bits of a result do too.
    """

    numerics: ClassVar[str] = "triton-1"
    support: ClassVar[AttentionSupport] = AttentionSupport(
        features=(Feature.ATTENTION, Feature.GRAPHS),
        devices=("cuda",),
        dtypes=(torch.bfloat16, torch.float32),
        head_dims=(16, 32, 64, 128, 256),
        block_multiple=16,
        max_group=32,
        packages=("triton",),
    )
    order: ClassVar[PoolOrder] = PoolOrder.BLOCKS

    def __init__(self, spec: AttentionSpec, pool: KVPool, *, check: bool = False) -> None:  # noqa: ARG002
        self._calls = spec.calls
        self._block_size = spec.block_size
        self._pool = pool
        self._device = pool.tensor.device
        self._processors = _processors(self._device)
        # All calls have the same heads and sizes.
        call = spec.calls[0]
        self._kv_heads, self._group = call.kv_heads, call.group
        row_bytes = call.k_dim * spec.dtype.itemsize
        self._prompt = prompt_shape(call.group, row_bytes, spec.block_size)
        self._decode = decode_shape(call.group, row_bytes, spec.block_size)
        if self._device.type == "cuda":
            self._compile(spec)

    def _compile(self, spec: AttentionSpec) -> None:
        """Compile the kernels by attending over zeros. Every row is written to slot 0, which no request owns yet."""
        for rows in PROMPTS:
            slots = torch.zeros(rows, dtype=torch.int64, device=self._device)
            table = [0] * -(-rows // spec.block_size)
            call = spec.calls[0]
            q = torch.zeros((rows, call.heads, call.k_dim), dtype=spec.dtype, device=self._device)
            k = q[:, : call.kv_heads]
            self.begin_step(AttentionMetadata((rows,), (rows,), (table,), slots)).attention(0, q, k, k)

    def begin_step(self, metadata: AttentionMetadata) -> ForwardContext:
        """Copy the block tables and the tiles to the device."""
        prompts: list[tuple[int, int, int, int]] = []
        decodes: list[tuple[int, int, int, int]] = []
        row = 0
        for index, (query_len, seq_len) in enumerate(zip(metadata.query_lens, metadata.seq_lens, strict=True)):
            kind = decodes if query_len == 1 else prompts
            kind.append((index, row, query_len, seq_len - query_len))
            row += query_len
        tiles = [
            self._tiles(*cut_rows(sequences, shape.lines // self._group), shape)
            for sequences, shape in ((prompts, self._prompt), (decodes, self._decode))
            if sequences
        ]
        return _CudaContext(self._calls, self._pool, self._tables(metadata), metadata.slot_mapping, tiles)

    def decode_context(
        self, block_tables: torch.Tensor, slot_mapping: torch.Tensor, positions: torch.Tensor
    ) -> ForwardContext:
        """See GraphedAttention. The kernel derives lengths from the positions, so a replay needs only these tensors."""
        rows = list(range(len(positions)))
        tiles = self._tiles([rows, rows, [1] * len(rows)], positions, self._decode)
        return _CudaContext(self._calls, self._pool, block_tables, slot_mapping, [tiles])

    def _tiles(self, spans: list[list[int]], starts: Sequence[int] | torch.Tensor, shape: TileShape) -> Tiles:
        on_device = starts if isinstance(starts, torch.Tensor) else self._ints(starts)
        splits = num_splits(len(starts), self._kv_heads, self._processors)
        return Tiles(self._ints(spans), on_device, splits, shape)

    def _tables(self, metadata: AttentionMetadata) -> torch.Tensor:
        """Build the block table [sequences, blocks of the longest]. Entries past a sequence's end are never read."""
        used = [-(-length // self._block_size) for length in metadata.seq_lens]
        width = max(used)
        lines = [
            [*table[:count], *[0] * (width - count)] for table, count in zip(metadata.block_tables, used, strict=True)
        ]
        return self._ints(lines)

    def _ints(self, values: Sequence[int] | Sequence[Sequence[int]]) -> torch.Tensor:
        return upload(np.array(values, dtype=np.int32), self._device)


@dataclass(frozen=True, slots=True)
class _CudaContext:
    """State of one step, shared by all layers.

    tables: [sequences, blocks] int32.
    """

    calls: tuple[AttentionCall, ...]
    pool: KVPool
    tables: torch.Tensor
    slots: torch.Tensor
    tiles: list[Tiles]

    def attention(
        self,
        index: int,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        sinks: torch.Tensor | None = None,  # noqa: ARG002
    ) -> torch.Tensor:
        """See `models.interface.ForwardContext`. No call has sinks: `support` refuses them."""
        from engine.attention import triton_kernels

        pages = self.pool.pages[index]
        triton_kernels.write(pages, self.slots, k, v)
        out = torch.empty(q.shape, dtype=q.dtype, device=q.device)
        for tiles in self.tiles:
            triton_kernels.attend(pages, q, self.tables, tiles, out, scale=self.calls[index].scale)
        return out


def _processors(device: torch.device) -> int:
    """Return the number of multiprocessors of the GPU, or 8 where Triton interprets the kernels."""
    return torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 8
