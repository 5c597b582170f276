"""Paged attention on a CUDA GPU: a Triton kernel that reads blocks in place, for prompts, chunks and captured decodes.

Triton ships with torch's CUDA build. The kernels are imported only when they run, so that the selector can import this
module on any machine and report why the backend is unavailable.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Final

import numpy as np
import torch

from cache_tiers.layout.kv_pool import KVPool
from cache_tiers.layout.layout import PoolOrder
from engine.attention.backend import (
    ALL_CALLS,
    AttentionMetadata,
    AttentionSpec,
    AttentionSupport,
    Feature,
    StepContext,
    StepShape,
)
from engine.attention.tiles import Tiles, TileShape, cut_rows, decode_shape, num_splits, padded, parts_of, prompt_shape
from engine.device.pinned_copy import upload
from models.interface.attention_call import AttentionCall
from models.interface.causal_lm import ForwardContext

COMPILED: Final = ((2,), (4096,), (1,), (1,) * 256)
"""Numbers of rows, by sequence, to compile kernels for before the first request: with and without split keys."""

_STEP_SPLITS: Final = 4
"""Parts of the keys in a captured step: of a decode at least, since there may be few, and of a prompt at most."""

_Span = tuple[int, int, int, int]
"""Index, first row in the batch, number of rows and first position of a sequence in a step."""


@dataclass(frozen=True, slots=True)
class _Shapes:
    """Tile shapes of the calls with the same heads.

    visible: positions that a row sees at most; 0 for all.
    """

    group: int
    kv_heads: int
    visible: int
    prompt: TileShape
    decode: TileShape

    @classmethod
    def of(cls, call: AttentionCall, spec: AttentionSpec) -> "_Shapes":
        row_bytes = padded(max(call.k_dim, call.v_dim)) * spec.dtype.itemsize
        shapes = [make(call.group, row_bytes, spec.block_size) for make in (prompt_shape, decode_shape)]
        return cls(call.group, call.kv_heads, call.window or call.chunk, *shapes)

    def splits(self, tiles: int, shape: TileShape, processors: int, fewest: int = 1) -> int:
        most_parts = parts_of(self.visible, shape.lines // self.group, shape.keys)
        return max(min(fewest, most_parts), num_splits(tiles, self.kv_heads, processors, most_parts))


class CudaAttention:
    """Attention backend for CUDA GPUs. Matrix products accumulate in float32.

    Scores stay in float32. Softmax weights are rounded to the model's dtype.
    The number of key splits depends on the batch and the GPU, so the last bits of a result do too.
    """

    numerics: ClassVar[str] = "triton-2"
    support: ClassVar[AttentionSupport] = AttentionSupport(
        features=(Feature.ATTENTION, Feature.GRAPHS, *ALL_CALLS),
        devices=("cuda",),
        dtypes=(torch.bfloat16, torch.float32),
        max_head_dim=256,
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
        self._shapes = tuple(_Shapes.of(call, spec) for call in spec.calls)
        if self._device.type == "cuda":
            self._compile(spec)

    def _compile(self, spec: AttentionSpec) -> None:
        """Compile the kernels by attending over zeros. Every row is written to slot 0, which no request owns yet."""
        for query_lens in COMPILED:
            rows = sum(query_lens)
            slots = torch.zeros(rows, dtype=torch.int64, device=self._device)
            tables = [[0] * -(-length // spec.block_size) for length in query_lens]
            context = self.begin_step(AttentionMetadata(query_lens, query_lens, tuple(tables), slots))
            for call in dict.fromkeys(spec.calls):
                zeros = partial(torch.zeros, dtype=spec.dtype, device=self._device)
                q, k = zeros((rows, call.heads, call.k_dim)), zeros((rows, call.kv_heads, call.k_dim))
                v, sinks = zeros((rows, call.kv_heads, call.v_dim)), zeros(call.heads) if call.sinks else None
                context.attention(spec.calls.index(call), q, k, v, sinks)

    def begin_step(self, metadata: AttentionMetadata) -> ForwardContext:
        """Copy the block tables and the tiles to the device."""
        prompts, decodes = _by_kind(metadata)
        tiles = {
            shapes: [
                self._tiles(*cut_rows(sequences, shape.lines // shapes.group), shape, shapes)
                for sequences, shape in ((prompts, shapes.prompt), (decodes, shapes.decode))
                if sequences
            ]
            for shapes in dict.fromkeys(self._shapes)
        }
        return self._context(self._tables(metadata), metadata.slot_mapping, tiles)

    def decode_context(
        self, block_tables: torch.Tensor, slot_mapping: torch.Tensor, positions: torch.Tensor
    ) -> ForwardContext:
        """See GraphedAttention. The kernel derives lengths from the positions, so a replay needs only these tensors."""
        rows = list(range(len(positions)))
        spans = [rows, rows, [1] * len(rows)]
        tiles = {
            shapes: [self._tiles(spans, positions, shapes.decode, shapes)] for shapes in dict.fromkeys(self._shapes)
        }
        return self._context(block_tables, slot_mapping, tiles)

    def step_context(self, shape: StepShape, block_tables: torch.Tensor, slot_mapping: torch.Tensor) -> StepContext:
        """See GraphedSteps."""
        tiles = {shapes: self._room(shape, shapes) for shapes in dict.fromkeys(self._shapes)}
        return _CudaStepContext(
            self._calls, self._pool, block_tables, slot_mapping, [tiles[shapes] for shapes in self._shapes], tiles
        )

    def _room(self, shape: StepShape, shapes: _Shapes) -> Sequence[Tiles]:
        """Create tiles without rows: as many as the prompts of a captured step may have, and one for each decode."""
        rows = shapes.prompt.lines // shapes.group
        full = shape.rows // rows
        prompts = full + shape.prompts
        parts = shapes.splits(max(full, 1), shapes.prompt, self._processors)
        decodes = min(shape.sequences, shape.rows)
        decode_parts = shapes.splits(decodes, shapes.decode, self._processors, fewest=_STEP_SPLITS)
        return (
            self._no_rows(prompts, min(parts, _STEP_SPLITS), shapes.prompt),
            self._no_rows(decodes, decode_parts, shapes.decode),
        )

    def _no_rows(self, count: int, splits: int, shape: TileShape) -> Tiles:
        spans = torch.zeros((3, count), dtype=torch.int32, device=self._device)
        return Tiles(spans, torch.zeros(count, dtype=torch.int64, device=self._device), splits, shape)

    def _context(
        self, tables: torch.Tensor, slots: torch.Tensor, tiles: Mapping[_Shapes, Sequence[Tiles]]
    ) -> ForwardContext:
        return _CudaContext(self._calls, self._pool, tables, slots, [tiles[shapes] for shapes in self._shapes])

    def _tiles(
        self, spans: list[list[int]], starts: Sequence[int] | torch.Tensor, shape: TileShape, shapes: _Shapes
    ) -> Tiles:
        splits = shapes.splits(len(starts), shape, self._processors)
        if not isinstance(starts, torch.Tensor):
            # The type of the positions of a captured decode, for which the kernels are compiled already.
            starts = upload(np.array(starts, dtype=np.int64), self._device)
        return Tiles(self._ints(spans), starts, splits, shape)

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
    tiles: those of each call.
    """

    _new: ClassVar[Callable[..., torch.Tensor]] = staticmethod(torch.empty)

    calls: tuple[AttentionCall, ...]
    pool: KVPool
    tables: torch.Tensor
    slots: torch.Tensor
    tiles: Sequence[Sequence[Tiles]]

    def attention(
        self,
        index: int,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        sinks: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """See `models.interface.causal_lm.ForwardContext`."""
        from engine.attention import triton_kernels

        call, pages = self.calls[index], self.pool.pages[index]
        q, k, v = (x if x.stride(-1) == 1 else x.contiguous() for x in (q, k, v))
        triton_kernels.write(pages, self.slots, k, v)
        out = self._new((len(q), call.heads, call.v_dim), dtype=q.dtype, device=q.device)
        for tiles in self.tiles[index]:
            triton_kernels.attend(call, pages, q, self.tables, tiles, out, sinks)
        return out


@dataclass(frozen=True, slots=True)
class _CudaStepContext(_CudaContext):
    """State of a captured step. Tiles past those of a replay have no rows.

    room: tiles of the prompts and of the decodes, by the shapes of their calls.
    """

    # The rest of the network computes padding as well, and must not meet NaN there.
    _new: ClassVar[Callable[..., torch.Tensor]] = staticmethod(torch.zeros)
    room: Mapping[_Shapes, Sequence[Tiles]]

    def fill(self, metadata: AttentionMetadata) -> None:
        """See StepContext."""
        kinds = _by_kind(metadata)
        for shapes, room in self.room.items():
            for tiles, sequences in zip(room, kinds, strict=True):
                spans, starts = cut_rows(sequences, tiles.shape.lines // shapes.group)
                values = np.zeros((4, len(tiles.starts)), dtype=np.int64)
                values[:3, : len(starts)], values[3, : len(starts)] = spans, starts
                there = upload(values, tiles.starts.device)
                tiles.spans.copy_(there[:3])
                tiles.starts.copy_(there[3])


def _by_kind(metadata: AttentionMetadata) -> tuple[list[_Span], list[_Span]]:
    """Return the sequences with several rows, and those with one."""
    prompts, decodes = list[_Span](), list[_Span]()
    row = 0
    for index, (query_len, seq_len) in enumerate(zip(metadata.query_lens, metadata.seq_lens, strict=True)):
        (decodes if query_len == 1 else prompts).append((index, row, query_len, seq_len - query_len))
        row += query_len
    return prompts, decodes


def _processors(device: torch.device) -> int:
    """Return the number of multiprocessors of the GPU, or 8 where Triton interprets the kernels."""
    return torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 8
