"""How the rows of a step are cut into tiles for a paged attention kernel, and the keys of few tiles into parts."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd
from typing import Final

import torch

MAX_SPLITS: Final = 64
WAVES: Final = 2
"""Programs per processor that keep it busy while some of them wait for memory."""
MIN_LINES: Final = 16
"""Of a matrix product on tensor cores."""
SHARED_BYTES: Final = 32 << 10
"""Of the queries of one tile; the keys and values that are under way take twice as much."""


@dataclass(frozen=True, slots=True)
class TileShape:
    """lines: rows x query heads of one KV head that a tile has at most; rows: the same, rounded up to a power of 2, as
    the kernel's matrix has them. keys: that are read at once. warps, stages: of the kernel."""

    lines: int
    rows: int
    keys: int
    warps: int
    stages: int


@dataclass(frozen=True, slots=True)
class Tiles:
    """n tiles on the device. spans: [3, n] int32, each one's sequence, first row of the batch, number of rows.

    starts: [n], the position of the first row, int32 or int64. splits: into how many parts the keys of each are cut.
    """

    spans: torch.Tensor
    starts: torch.Tensor
    splits: int
    shape: TileShape


def prompt_shape(group: int, row_bytes: int, block_size: int) -> TileShape:
    """For sequences of several rows. group: query heads that share a KV head; row_bytes: of one head of one row."""
    rows = max(MIN_LINES, min(128, SHARED_BYTES // row_bytes), 1 << (group - 1).bit_length())
    return TileShape(rows // group * group, rows, _keys(row_bytes, block_size), warps=8 if rows >= 128 else 4, stages=2)


def decode_shape(group: int, row_bytes: int, block_size: int) -> TileShape:
    """For one row of each sequence."""
    rows = max(MIN_LINES, 1 << (group - 1).bit_length())
    return TileShape(group, rows, _keys(row_bytes, block_size), warps=4, stages=3)


def _keys(row_bytes: int, block_size: int) -> int:
    """As many as fit, and divide a block, so that they lie in one."""
    return gcd(block_size, max(16, min(64, SHARED_BYTES // 2 // row_bytes)))


def num_splits(tiles: int, kv_heads: int, processors: int) -> int:
    """Enough that every processor has work, without looking at lengths: those change under a recorded graph."""
    return max(1, min(MAX_SPLITS, WAVES * processors // (tiles * kv_heads)))


def cut_rows(sequences: Sequence[tuple[int, int, int, int]], rows_per_tile: int) -> tuple[list[list[int]], list[int]]:
    """sequences: (index, first row of the batch, number of rows, position of the first row). Returns spans and starts
    as `Tiles` has them; long sequences come first within their own order, nothing else is moved."""
    spans: list[list[int]] = [[], [], []]
    starts: list[int] = []
    for index, first_row, count, position in sequences:
        for done in range(0, count, rows_per_tile):
            for line, value in zip(spans, (index, first_row + done, min(rows_per_tile, count - done)), strict=True):
                line.append(value)
            starts.append(position + done)
    return spans, starts
