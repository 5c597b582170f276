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

from engine.attention.tiles import MAX_SPLITS, Tiles, TileShape, padded
from models.interface.attention_call import AttentionCall

LOG2_E: tl.constexpr = tl.constexpr(1.4426950408889634)


@triton.jit
def _write(
    k, v, keys, values, slots, k_row, k_head, v_row, v_head,
    key_block, key_head, value_block, value_head,
    HEADS: tl.constexpr, PADDED: tl.constexpr, BLOCK_SIZE: tl.constexpr,
    K_DIM: tl.constexpr, V_DIM: tl.constexpr, K_PADDED: tl.constexpr, V_PADDED: tl.constexpr,
):  # fmt: skip
    """Write the K and V of one row to its slot. Program: (row)."""
    row = tl.program_id(0).to(tl.int64)
    heads = tl.arange(0, PADDED)[:, None]
    k_dims, v_dims = tl.arange(0, K_PADDED)[None, :], tl.arange(0, V_PADDED)[None, :]
    slot = tl.load(slots + row)
    block, offset = slot // BLOCK_SIZE, slot % BLOCK_SIZE
    there = (heads < HEADS) & (k_dims < K_DIM)
    key = tl.load(k + row * k_row + heads * k_head + k_dims, mask=there)
    tl.store(keys + block * key_block + offset * K_DIM + heads * key_head + k_dims, key, mask=there)
    there = (heads < HEADS) & (v_dims < V_DIM)
    value = tl.load(v + row * v_row + heads * v_head + v_dims, mask=there)
    tl.store(values + block * value_block + offset * V_DIM + heads * value_head + v_dims, value, mask=there)


@triton.jit
def _mix_block(
    position, highest, total, mixed, queries, keys, values, table, kv_head, scale, last, end,
    key_block, key_head, value_block, value_head,
    BLOCK_SIZE: tl.constexpr, K_DIM: tl.constexpr, V_DIM: tl.constexpr, K_PADDED: tl.constexpr,
    V_PADDED: tl.constexpr, KEYS: tl.constexpr, WINDOW: tl.constexpr, CHUNK: tl.constexpr, SOFTCAP: tl.constexpr,
    MASKED: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Add the KEYS keys from `position` on to a tile's running softmax. Return the highest scores, sums and values.

    Without MASKED, every row sees all of these keys.
    """
    columns, k_dims, v_dims = tl.arange(0, KEYS), tl.arange(0, K_PADDED), tl.arange(0, V_PADDED)
    # KEYS divides BLOCK_SIZE, so these keys are in one block.
    block = tl.load(table + position // BLOCK_SIZE).to(tl.int64)
    offset = position % BLOCK_SIZE
    key_at = keys + block * key_block + kv_head * key_head + offset * K_DIM + columns[None, :] * K_DIM + k_dims[:, None]
    value_at = values + block * value_block + kv_head * value_head + offset * V_DIM
    value_at += columns[:, None] * V_DIM + v_dims[None, :]
    if MASKED:
        # Slots past the sequence's end may hold NaN or Inf, so they are not even read.
        known = position + columns < end
        key = tl.load(key_at, mask=known[None, :] & (k_dims < K_DIM)[:, None], other=0.0)
        value = tl.load(value_at, mask=known[:, None] & (v_dims < V_DIM)[None, :], other=0.0)
    else:
        key = _load_heads(key_at, k_dims[:, None], K_DIM, K_PADDED)
        value = _load_heads(value_at, v_dims[None, :], V_DIM, V_PADDED)
    scores = tl.dot(queries, key, input_precision=PRECISION) * scale
    if SOFTCAP > 0.0:
        # tanh(x) = 2 sigmoid(2 x) - 1. With a softcap, `scale` is without log2(e).
        scores = (2.0 * tl.sigmoid(scores * (2.0 / SOFTCAP)) - 1.0) * (SOFTCAP * LOG2_E)
    if MASKED:
        there = position + columns[None, :]
        seen = there <= last[:, None]
        if WINDOW:
            seen &= there > last[:, None] - WINDOW
        if CHUNK:
            seen &= there >= last[:, None] // CHUNK * CHUNK
        scores = tl.where(seen, scores, float("-inf"))
    higher = tl.maximum(highest, tl.max(scores, 1))
    # For a row that has seen no key yet, -inf minus -inf would be NaN.
    base = tl.where(higher == float("-inf"), 0.0, higher) if MASKED else higher
    weights = tl.exp2(scores - base[:, None])
    kept = tl.exp2(highest - base)
    total = total * kept + tl.sum(weights, 1)
    mixed = mixed * kept[:, None] + tl.dot(weights.to(value.dtype), value, input_precision=PRECISION)
    return higher, total, mixed


@triton.jit
def _load_heads(at, dims, DIM: tl.constexpr, PADDED: tl.constexpr):
    """Load whole heads, with zeros past their width."""
    if DIM == PADDED:
        return tl.load(at)
    else:
        return tl.load(at, mask=dims < DIM, other=0.0)


@triton.jit(do_not_specialize=["num_tiles", "table_width"])
def _attend(
    q, keys, values, sinks, tables, tiles, starts, out, sums, logs, scale,
    num_tiles, table_width, q_row, q_head, out_row, key_block, key_head, value_block, value_head,
    GROUP: tl.constexpr, BLOCK_SIZE: tl.constexpr, K_DIM: tl.constexpr, V_DIM: tl.constexpr,
    K_PADDED: tl.constexpr, V_PADDED: tl.constexpr, ROWS: tl.constexpr, KEYS: tl.constexpr,
    WINDOW: tl.constexpr, CHUNK: tl.constexpr, SOFTCAP: tl.constexpr, SINKS: tl.constexpr,
    SPLIT: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Attend with one tile over one part of its keys. Program: (tile, KV head, split).

    Results go to out [T, heads, V_DIM], or with SPLIT to `sums` and `logs`. See `attend`.
    """
    tile, kv_head, split = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    sequence = tl.load(tiles + tile).to(tl.int64)
    first_row = tl.load(tiles + num_tiles + tile).to(tl.int64)
    count = tl.load(tiles + 2 * num_tiles + tile)
    start = tl.load(starts + tile).to(tl.int32)
    end = start + count
    table = tables + sequence * table_width
    lines, k_dims, v_dims = tl.arange(0, ROWS), tl.arange(0, K_PADDED), tl.arange(0, V_PADDED)
    row = lines // GROUP
    inside = row < count
    heads = (kv_head * GROUP + lines % GROUP).to(tl.int64)
    at = (first_row + row) * q_row + heads * q_head
    known_query = inside[:, None] & (k_dims < K_DIM)[None, :]
    queries = tl.load(q + at[:, None] + k_dims[None, :], mask=known_query, other=0.0)
    last = start + row

    # The first position that the first row sees; all later rows see none before it.
    first = 0
    if WINDOW:
        first = tl.maximum(first, start + 1 - WINDOW)
    if CHUNK:
        first = tl.maximum(first, start // CHUNK * CHUNK)
    first = first // KEYS * KEYS
    part = tl.cdiv(tl.cdiv(end - first, KEYS), tl.num_programs(2)) * KEYS
    begin = first + split * part
    stop = tl.minimum(begin + part, end)
    highest = tl.full([ROWS], float("-inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    if SINKS:
        # A sink is a score without a value, which the first part takes.
        sink = tl.load(sinks + heads, mask=inside, other=0.0).to(tl.float32) * LOG2_E
        highest = tl.where(split == 0, sink, highest)
        total += tl.where(split == 0, 1.0, 0.0)
    mixed = tl.zeros([ROWS, V_PADDED], tl.float32)
    # All rows see all keys before `plain`, which need no masks.
    plain = begin
    if (not WINDOW) and (not CHUNK):
        plain = tl.maximum(begin, tl.minimum(stop, (start + 1) // KEYS * KEYS))
        for position in range(begin, plain, KEYS):
            highest, total, mixed = _mix_block(
                position, highest, total, mixed, queries, keys, values, table, kv_head, scale, last, end,
                key_block, key_head, value_block, value_head, BLOCK_SIZE, K_DIM, V_DIM, K_PADDED, V_PADDED, KEYS,
                WINDOW, CHUNK, SOFTCAP, False, PRECISION,
            )  # fmt: skip
    for position in range(plain, stop, KEYS):
        highest, total, mixed = _mix_block(
            position, highest, total, mixed, queries, keys, values, table, kv_head, scale, last, end,
            key_block, key_head, value_block, value_head, BLOCK_SIZE, K_DIM, V_DIM, K_PADDED, V_PADDED, KEYS,
            WINDOW, CHUNK, SOFTCAP, True, PRECISION,
        )  # fmt: skip

    # A part may have no key visible to its row. Then the sum is 0, and its logarithm stays -inf.
    total = tl.where(total == 0.0, 1.0, total)
    mixed = mixed / total[:, None]
    wanted = inside[:, None] & (v_dims < V_DIM)[None, :]
    if SPLIT:
        line = ((split * num_tiles + tile).to(tl.int64) * tl.num_programs(1) + kv_head) * ROWS + lines
        tl.store(sums + line[:, None] * V_DIM + v_dims[None, :], mixed, mask=wanted)
        tl.store(logs + line, highest + tl.log2(total), mask=inside)
    else:
        at = (first_row + row) * out_row + heads * V_DIM
        tl.store(out + at[:, None] + v_dims[None, :], mixed.to(out.dtype.element_ty), mask=wanted)


@triton.jit(do_not_specialize=["num_tiles", "splits"])
def _add_up(
    tiles, out, sums, logs, num_tiles, splits, out_row,
    GROUP: tl.constexpr, DIM: tl.constexpr, PADDED: tl.constexpr, ROWS: tl.constexpr, SPLITS: tl.constexpr,
):  # fmt: skip
    """Combine the parts of one row and head. Program: (tile, KV head, line of the tile)."""
    tile, kv_head, line = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    first_row = tl.load(tiles + num_tiles + tile).to(tl.int64)
    count = tl.load(tiles + 2 * num_tiles + tile)
    if line // GROUP < count:
        parts, dims = tl.arange(0, SPLITS), tl.arange(0, PADDED)
        there, inside = parts < splits, dims < DIM
        at = ((parts * num_tiles + tile).to(tl.int64) * tl.num_programs(1) + kv_head) * ROWS + line
        log = tl.load(logs + at, mask=there, other=float("-inf"))
        # Every row sees its own position, so at least one part is not empty.
        weights = tl.exp2(log - tl.max(log, 0))
        part = tl.load(sums + at[:, None] * DIM + dims[None, :], mask=there[:, None] & inside[None, :], other=0.0)
        mixed = tl.sum(part * weights[:, None], 0) / tl.sum(weights, 0)
        target = (first_row + line // GROUP) * out_row + (kv_head * GROUP + line % GROUP) * DIM
        tl.store(out + target + dims, mixed.to(out.dtype.element_ty), mask=inside)


Pages = tuple[torch.Tensor, torch.Tensor]
"""K [block, kv_head, slot, k_dim] and V [block, kv_head, slot, v_dim] of one attention call."""


def write(pages: Pages, slots: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> None:
    """Write keys and values to their slots in the pages of one attention call.

    slots: [T] int64.
    k: [T, kv_heads, k_dim].
    v: [T, kv_heads, v_dim].
    """
    rows, heads, k_dim = k.shape
    keys, values = pages
    v_dim = v.shape[2]
    _write[(rows,)](
        k, v, keys, values, slots, k.stride(0), k.stride(1), v.stride(0), v.stride(1),
        keys.stride(0), keys.stride(1), values.stride(0), values.stride(1),
        HEADS=heads, PADDED=triton.next_power_of_2(heads), BLOCK_SIZE=keys.shape[2],
        K_DIM=k_dim, V_DIM=v_dim, K_PADDED=padded(k_dim), V_PADDED=padded(v_dim), num_warps=2,
    )  # fmt: skip


def attend(
    call: AttentionCall,
    pages: Pages,
    q: torch.Tensor,
    tables: torch.Tensor,
    tiles: Tiles,
    out: torch.Tensor,
    sinks: torch.Tensor | None = None,
) -> None:
    """Compute attention of q [T, heads, k_dim] over the pages of `call` into the same rows of out [T, heads, v_dim].

    `out` must be contiguous. Split sums use memory of torch's allocator, which may allocate during a graph capture.

    sinks: [heads], contiguous, for a call with sinks.
    """
    if call.sinks != (sinks is not None):
        raise ValueError(f"the call {'has' if call.sinks else 'has no'} sinks")
    keys, values = pages
    shape: TileShape = tiles.shape
    count, splits = len(tiles.starts), tiles.splits
    lines = splits * count * call.kv_heads * shape.rows if splits > 1 else 0
    sums = torch.empty((lines, call.v_dim), dtype=torch.float32, device=q.device)
    logs = torch.empty(lines, dtype=torch.float32, device=q.device)
    # The kernels use exp2, which is cheaper than exp. Without a softcap, log2(e) is part of the scale.
    scale = call.scale if call.softcap else call.scale * LOG2_E.value
    _attend[(count, call.kv_heads, splits)](
        q, keys, values, q if sinks is None else sinks, tables, tiles.spans, tiles.starts, out, sums, logs, scale,
        count, tables.shape[1], q.stride(0), q.stride(1), out.stride(0),
        keys.stride(0), keys.stride(1), values.stride(0), values.stride(1),
        GROUP=call.group, BLOCK_SIZE=keys.shape[2], K_DIM=call.k_dim, V_DIM=call.v_dim,
        K_PADDED=padded(call.k_dim), V_PADDED=padded(call.v_dim), ROWS=shape.rows, KEYS=shape.keys,
        WINDOW=call.window, CHUNK=call.chunk, SOFTCAP=call.softcap, SINKS=sinks is not None,
        SPLIT=splits > 1, PRECISION="ieee" if q.dtype == torch.float32 else "tf32",
        num_warps=shape.warps, num_stages=shape.stages,
    )  # fmt: skip
    if splits > 1:
        _add_up[(count, call.kv_heads, shape.lines)](
            tiles.spans, out, sums, logs, count, splits, out.stride(0),
            GROUP=call.group, DIM=call.v_dim, PADDED=padded(call.v_dim), ROWS=shape.rows, SPLITS=MAX_SPLITS,
            num_warps=4,
        )  # fmt: skip
