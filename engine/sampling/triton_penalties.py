"""Penalties of seen tokens in Triton, and the count of sampled ones, in one launch each. Imported only where they run.

The ids of a line differ, because a token that the line already has is not added again. A token is therefore penalized
once, though no program knows what another one has written. Results are rounded where plain torch rounds them.
"""

# Compile-time constants are in capitals, by Triton's convention.
# ruff: noqa: N803
# mypy: disable-error-code="import-not-found,import-untyped,untyped-decorator,no-untyped-def"

import torch
import triton
import triton.language as tl

_IDS: int = 1024
"""Ids of a line that a program handles at a time."""


@triton.jit(do_not_specialize=["width"])
def _penalize(
    logits, ids, counts, ends, rows, lines, penalties, row_stride, width, VOCAB: tl.constexpr, IDS: tl.constexpr,
):  # fmt: skip
    """Penalize some of the seen tokens of one row. Program: (row, part of the line)."""
    program, places = tl.program_id(0), tl.program_id(1) * IDS + tl.arange(0, IDS)
    row, line = tl.load(rows + program), tl.load(lines + program)
    seen = places < tl.load(ends + line)
    token = tl.load(ids + line * width + places, mask=seen, other=0)
    times = tl.load(counts + line * VOCAB + token, mask=seen, other=0)
    at = logits + row * row_stride + token
    value = tl.load(at, mask=seen, other=0.0)
    repetition = tl.load(penalties + 3 * program)
    frequency = tl.load(penalties + 3 * program + 1)
    presence = tl.load(penalties + 3 * program + 2)
    value = tl.where(value > 0.0, tl.div_rn(value, repetition), value * repetition)
    value = value - frequency * times.to(tl.float32) - presence * (times > 0).to(tl.float32)
    tl.store(at, value, mask=seen)


@triton.jit(do_not_specialize=["width"])
def _count_token(ids, counts, ends, rows, lines, chosen, width, VOCAB: tl.constexpr, IDS: tl.constexpr):
    """Count the chosen token of one row, and add it to the ids of its line if it is new. Program: (row)."""
    program = tl.program_id(0)
    row, line = tl.load(rows + program), tl.load(lines + program)
    token, end = tl.load(chosen + row), tl.load(ends + line)
    own, number = ids + line * width, counts + line * VOCAB + token
    times = tl.load(number)
    known, start = 0, 0
    while start < end:
        places = start + tl.arange(0, IDS)
        # Past its end, a line repeats its first id.
        same = tl.load(own + places, mask=places < end, other=-1) == token
        known += tl.sum(same.to(tl.int32), 0)
        start += IDS
    # A warp must not read the end that another one has already moved.
    tl.debug_barrier()
    tl.store(number, times + 1)
    tl.store(own + end, token, mask=known == 0)
    tl.store(ends + line, end + 1, mask=known == 0)


def penalize(
    logits: torch.Tensor,
    rows: torch.Tensor,
    lines: torch.Tensor,
    penalties: torch.Tensor,
    table: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
    longest: int,
) -> None:
    """Penalize the seen tokens of `rows` in `logits` [R, vocab] float32.

    rows, lines: [n] int64, the rows, and their lines in the table.
    penalties: [n, 3] float32, for repetition, frequency and presence.
    table: ids [lines, width] int64, counts [lines, vocab] int32, and number of ids in use [lines] int64.
    longest: upper bound of the numbers of ids in use.
    """
    ids, counts, ends = table
    _penalize[(len(rows), triton.cdiv(longest, _IDS))](
        logits, ids, counts, ends, rows, lines, penalties, logits.stride(0), ids.shape[1], VOCAB=counts.shape[1],
        IDS=_IDS, num_warps=4, enable_fp_fusion=False,
    )  # fmt: skip


def count(
    chosen: torch.Tensor,
    rows: torch.Tensor,
    lines: torch.Tensor,
    table: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
) -> None:
    """Count the tokens of `rows` in `chosen` [R] int64. The arguments are those of `penalize`.

    Every line has room for one more id.
    """
    ids, counts, ends = table
    _count_token[(len(rows),)](
        ids, counts, ends, rows, lines, chosen, ids.shape[1], VOCAB=counts.shape[1], IDS=_IDS, num_warps=4
    )
