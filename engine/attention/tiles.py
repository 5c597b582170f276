"""Tiling for a paged attention kernel: rows are cut into tiles, and where tiles are few, keys are split as well."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd
from typing import Final

import torch

MAX_SPLITS: Final = 64
WAVES: Final = 2
"""Programs per multiprocessor, so that it stays busy while some of them wait for memory."""
MIN_LINES: Final = 16
"""Minimum number of rows of a matrix product on tensor cores."""
SHARED_BYTES: Final = 32 << 10
"""Shared memory for the queries of one tile. The keys and values in flight take twice as much."""


@dataclass(frozen=True, slots=True)
class TileShape:
    """Dimensions of a tile and launch parameters of its kernel.

    lines: maximum number of lines of a tile: rows x query heads of one KV head.
    rows: rows of the kernel's matrix: `lines` rounded up to a power of 2.
    keys: keys that one iteration reads.
    warps, stages: Triton's num_warps and num_stages.
    """

    lines: int
    rows: int
    keys: int
    warps: int
    stages: int


@dataclass(frozen=True, slots=True)
class Tiles:
    """A batch of n tiles on the device.

    spans: [3, n] int32: sequence, first row in the batch and number of rows of each tile.
    starts: [n] int64: position of each tile's first row in its sequence.
    splits: number of parts that the keys of each tile are split into.
    """

    spans: torch.Tensor
    starts: torch.Tensor
    splits: int
    shape: TileShape


def prompt_shape(group: int, row_bytes: int, block_size: int) -> TileShape:
    """Choose the tile shape for sequences of several rows.

    group: query heads per KV head.
    row_bytes: size of one head of one row.
    """
    rows = max(min(64, SHARED_BYTES // row_bytes), padded(group))
    return TileShape(rows // group * group, rows, _keys(row_bytes, block_size), warps=4, stages=3)


def decode_shape(group: int, row_bytes: int, block_size: int) -> TileShape:
    """Choose the tile shape for one row per sequence. See `prompt_shape` for the parameters."""
    return TileShape(group, padded(group), _keys(row_bytes, block_size), warps=2, stages=3)


def _keys(row_bytes: int, block_size: int) -> int:
    """Return the largest number of keys that fits and divides the block size, so that an iteration reads one block."""
    return gcd(block_size, max(16, min(64, SHARED_BYTES // 2 // row_bytes)))


def padded(size: int) -> int:
    """Return the side of a matrix on tensor cores that has room for `size` lines or elements: a power of 2."""
    return max(MIN_LINES, 1 << (size - 1).bit_length())


def num_splits(tiles: int, kv_heads: int, processors: int, most_parts: int = MAX_SPLITS) -> int:
    """Return how many parts to split keys into so that every multiprocessor has work.

    Sequence lengths are ignored, because they change between replays of a captured graph.

    most_parts: parts that can have keys, because of a window or a chunk.
    """
    return max(1, min(MAX_SPLITS, most_parts, WAVES * processors // (tiles * kv_heads)))


def parts_of(visible: int, rows: int, keys: int) -> int:
    """Return how many groups of `keys` keys the rows of a tile can see.

    visible: positions that a row sees at most; 0 for all.
    rows: of a tile.
    """
    return (visible + rows - 2) // keys + 2 if visible else MAX_SPLITS


def cut_rows(sequences: Sequence[tuple[int, int, int, int]], rows_per_tile: int) -> tuple[list[list[int]], list[int]]:
    """Cut sequences into tiles of at most `rows_per_tile` rows, in order.

    sequences: (index, first row in the batch, number of rows, position of the first row).

    Return the spans and starts of `Tiles`.
    """
    spans: list[list[int]] = [[], [], []]
    starts: list[int] = []
    for index, first_row, count, position in sequences:
        for done in range(0, count, rows_per_tile):
            for line, value in zip(spans, (index, first_row + done, min(rows_per_tile, count - done)), strict=True):
                line.append(value)
            starts.append(position + done)
    return spans, starts
