"""Paged attention in Triton: one kernel for prompts, chunks, decodes and any mix of them. Imported only where it runs.

The rows of a step are cut into tiles of consecutive rows of one sequence. A program computes attention for one tile and
the query heads of one KV head, folded into the rows of one matrix, over one part of the sequence's keys. Where tiles
are few, as in one long chat, the keys are split over more programs, and a second kernel combines the parts.
"""

# Compile-time constants are in capitals, by Triton's convention.
# ruff: noqa: N803
# mypy: disable-error-code="import-not-found,import-untyped,untyped-decorator,no-untyped-def"

import torch
import triton
import triton.language as tl

from engine.attention.tiles import MAX_SPLITS, Tiles, TileShape


@triton.jit
def _write(
    k, v, keys, values, slots, k_row, k_head, v_row, v_head, block_stride, head_stride,
    HEADS: tl.constexpr, PADDED: tl.constexpr, BLOCK_SIZE: tl.constexpr, DIM: tl.constexpr,
):  # fmt: skip
    """Write the K and V of one row to its slot. Program: (row)."""
    row = tl.program_id(0).to(tl.int64)
    heads, dims = tl.arange(0, PADDED), tl.arange(0, DIM)
    there = (heads < HEADS)[:, None]
    slot = tl.load(slots + row)
    page = slot // BLOCK_SIZE * block_stride + slot % BLOCK_SIZE * DIM
    target = page + heads[:, None] * head_stride + dims[None, :]
    key = tl.load(k + row * k_row + heads[:, None] * k_head + dims[None, :], mask=there)
    value = tl.load(v + row * v_row + heads[:, None] * v_head + dims[None, :], mask=there)
    tl.store(keys + target, key, mask=there)
    tl.store(values + target, value, mask=there)


@triton.jit(do_not_specialize=["num_tiles", "table_width"])
def _attend(
    q, keys, values, tables, tiles, starts, out, sums, logs, scale,
    num_tiles, table_width, q_row, q_head, out_row, block_stride, head_stride,
    GROUP: tl.constexpr, BLOCK_SIZE: tl.constexpr, DIM: tl.constexpr, ROWS: tl.constexpr, KEYS: tl.constexpr,
    SPLIT: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Attend with one tile over one part of its keys. Program: (tile, KV head, split).

    Results go to out [T, heads, DIM], or with SPLIT to `sums` and `logs`. See `attend`.
    """
    tile, kv_head, split = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    sequence = tl.load(tiles + tile).to(tl.int64)
    first_row = tl.load(tiles + num_tiles + tile).to(tl.int64)
    count = tl.load(tiles + 2 * num_tiles + tile)
    start = tl.load(starts + tile).to(tl.int32)
    end = start + count
    lines, dims, columns = tl.arange(0, ROWS), tl.arange(0, DIM), tl.arange(0, KEYS)
    row = lines // GROUP
    inside = (row < count)[:, None]
    heads = kv_head * GROUP + lines % GROUP
    at = (first_row + row) * q_row + heads * q_head
    queries = tl.load(q + at[:, None] + dims[None, :], mask=inside, other=0.0)
    last = start + row

    part = tl.cdiv(tl.cdiv(end, KEYS), tl.num_programs(2)) * KEYS
    begin = split * part
    stop = tl.minimum(begin + part, end)
    highest = tl.full([ROWS], float("-inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    mixed = tl.zeros([ROWS, DIM], tl.float32)
    for position in range(begin, stop, KEYS):
        # KEYS divides BLOCK_SIZE, so these keys are in one block.
        block = tl.load(tables + sequence * table_width + position // BLOCK_SIZE).to(tl.int64)
        page = block * block_stride + kv_head * head_stride + position % BLOCK_SIZE * DIM
        # Slots past the sequence's end may hold NaN or Inf, so they are not even read.
        known = position + columns < end
        key = tl.load(keys + page + columns[None, :] * DIM + dims[:, None], mask=known[None, :], other=0.0)
        value = tl.load(values + page + columns[:, None] * DIM + dims[None, :], mask=known[:, None], other=0.0)
        scores = tl.dot(queries, key, input_precision=PRECISION) * scale
        seen = position + columns[None, :] <= last[:, None]
        scores = tl.where(seen, scores, float("-inf"))
        higher = tl.maximum(highest, tl.max(scores, 1))
        # For a row that has seen no key yet, -inf minus -inf would be NaN.
        base = tl.where(higher == float("-inf"), 0.0, higher)
        weights = tl.exp2(scores - base[:, None])
        kept = tl.exp2(highest - base)
        total = total * kept + tl.sum(weights, 1)
        mixed = mixed * kept[:, None] + tl.dot(weights.to(value.dtype), value, input_precision=PRECISION)
        highest = higher

    # A part may have no key visible to its row. Then the sum is 0, and its logarithm stays -inf.
    total = tl.where(total == 0.0, 1.0, total)
    mixed = mixed / total[:, None]
    if SPLIT:
        line = ((split * num_tiles + tile).to(tl.int64) * tl.num_programs(1) + kv_head) * ROWS + lines
        tl.store(sums + line[:, None] * DIM + dims[None, :], mixed, mask=inside)
        tl.store(logs + line, highest + tl.log2(total), mask=row < count)
    else:
        at = (first_row + row) * out_row + heads * DIM
        tl.store(out + at[:, None] + dims[None, :], mixed.to(out.dtype.element_ty), mask=inside)


@triton.jit(do_not_specialize=["num_tiles", "splits"])
def _add_up(
    tiles, out, sums, logs, num_tiles, splits, out_row,
    GROUP: tl.constexpr, DIM: tl.constexpr, ROWS: tl.constexpr, SPLITS: tl.constexpr,
):  # fmt: skip
    """Combine the parts of one row and head. Program: (tile, KV head, line of the tile)."""
    tile, kv_head, line = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    first_row = tl.load(tiles + num_tiles + tile).to(tl.int64)
    count = tl.load(tiles + 2 * num_tiles + tile)
    if line // GROUP < count:
        parts, dims = tl.arange(0, SPLITS), tl.arange(0, DIM)
        there = parts < splits
        at = ((parts * num_tiles + tile).to(tl.int64) * tl.num_programs(1) + kv_head) * ROWS + line
        log = tl.load(logs + at, mask=there, other=float("-inf"))
        # Key 0 is visible to every row, so the first part is never empty.
        weights = tl.exp2(log - tl.max(log, 0))
        part = tl.load(sums + at[:, None] * DIM + dims[None, :], mask=there[:, None], other=0.0)
        mixed = tl.sum(part * weights[:, None], 0) / tl.sum(weights, 0)
        target = (first_row + line // GROUP) * out_row + (kv_head * GROUP + line % GROUP) * DIM
        tl.store(out + target + dims, mixed.to(out.dtype.element_ty))


Pages = tuple[torch.Tensor, torch.Tensor]
"""K and V of one attention call, each [block, kv_head, slot, head_dim], with the same strides."""


def write(pages: Pages, slots: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> None:
    """Write keys and values to their slots in the pages of one attention call.

    slots: [T] int64.
    k, v: [T, kv_heads, head_dim].
    """
    rows, heads, dim = k.shape
    keys, values = pages
    _write[(rows,)](
        k, v, keys, values, slots, k.stride(0), k.stride(1), v.stride(0), v.stride(1), keys.stride(0), keys.stride(1),
        HEADS=heads, PADDED=triton.next_power_of_2(heads), BLOCK_SIZE=keys.shape[2], DIM=dim, num_warps=2,
    )  # fmt: skip


def attend(
    pages: Pages, q: torch.Tensor, tables: torch.Tensor, tiles: Tiles, out: torch.Tensor, *, scale: float
) -> None:
    """Compute attention of q [T, heads, head_dim] over the pages of one call into the same rows of `out`.

    `out` must be contiguous. Split sums use memory of torch's allocator, which may allocate during a graph capture.
    """
    heads, dim = q.shape[1:]
    keys, values = pages
    kv_heads = keys.shape[1]
    group = heads // kv_heads
    shape: TileShape = tiles.shape
    count, splits = len(tiles.starts), tiles.splits
    lines = splits * count * kv_heads * shape.rows if splits > 1 else 0
    sums = torch.empty((lines, dim), dtype=torch.float32, device=q.device)
    logs = torch.empty(lines, dtype=torch.float32, device=q.device)
    # The kernels use exp2, which is cheaper than exp: fold log2(e) into the scale.
    binary_scale = scale * 1.4426950408889634
    _attend[(count, kv_heads, splits)](
        q, keys, values, tables, tiles.spans, tiles.starts, out, sums, logs, binary_scale,
        count, tables.shape[1], q.stride(0), q.stride(1), out.stride(0), keys.stride(0), keys.stride(1),
        GROUP=group, BLOCK_SIZE=keys.shape[2], DIM=dim, ROWS=shape.rows, KEYS=shape.keys,
        SPLIT=splits > 1, PRECISION="ieee" if q.dtype == torch.float32 else "tf32",
        num_warps=shape.warps, num_stages=shape.stages,
    )  # fmt: skip
    if splits > 1:
        _add_up[(count, kv_heads, shape.lines)](
            tiles.spans, out, sums, logs, count, splits, out.stride(0),
            GROUP=group, DIM=dim, ROWS=shape.rows, SPLITS=MAX_SPLITS, num_warps=4,
        )  # fmt: skip
