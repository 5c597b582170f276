"""Draws of tokens in Triton, in one or two launches. Imported only where they run.

The rules are those of `engine.sampling.candidates`. Masses are integers, so that a token is the same as with torch,
given the same probabilities. All tensors are contiguous.
"""

# Compile-time constants are in capitals, by Triton's convention.
# ruff: noqa: N803
# mypy: disable-error-code="import-not-found,import-untyped,untyped-decorator,no-untyped-def"

import torch
import triton
import triton.language as tl

from engine.sampling.running_mass import ONE

_ONE: tl.constexpr = tl.constexpr(ONE)
_WHOLE: tl.constexpr = tl.constexpr(int(ONE))
_WALKED: int = 4096
"""Probabilities of a row that a program reads at a time where it looks for equal tokens."""
_PART: int = 4096
"""Probabilities of a row that one program of `draw_by_id` sums."""


@triton.jit
def _to_integers(probs):
    """Return the masses, int64, of `probs`, as `engine.sampling.running_mass` does."""
    return (probs * _ONE).to(tl.int64)


@triton.jit
def _share_of(mass, share):
    """Return the integer part of `share`, float64 in [0, 1), of the integer `mass`, at most mass - 1."""
    return tl.minimum((share * mass.to(tl.float64)).to(tl.int64), mass - 1)


@triton.jit
def _count(which):
    """Return the number of true elements as int32."""
    return tl.sum(which.to(tl.int32), 0)


@triton.jit
def _pick(values, places, place):
    """Return the element of `values` at `place`."""
    return tl.sum(tl.where(places == place, values, 0), 0)


@triton.jit
def _are_equal(row, start, likelihood, VOCAB: tl.constexpr, BLOCK: tl.constexpr):
    """Compare the BLOCK probabilities from `start` on with `likelihood`."""
    places = start + tl.arange(0, BLOCK)
    inside = places < VOCAB
    return inside & (tl.load(row + places, mask=inside, other=0.0) == likelihood)


@triton.jit
def _find_equal(row, likelihood, rank, VOCAB: tl.constexpr, BLOCK: tl.constexpr):
    """Return the id number `rank` of the tokens in a row that have this likelihood."""
    start = 0
    before = 0
    # Triton 3.6 does not compile a loop whose condition is known to be false.
    if VOCAB > BLOCK:
        count = _count(_are_equal(row, start, likelihood, VOCAB, BLOCK))
        while (before + count <= rank) & (start + BLOCK < VOCAB):
            start += BLOCK
            before += count
            count = _count(_are_equal(row, start, likelihood, VOCAB, BLOCK))
    ends = before + tl.cumsum(_are_equal(row, start, likelihood, VOCAB, BLOCK).to(tl.int32), 0)
    return start + _count(ends <= rank)


@triton.jit
def _draw_candidate(
    probs, ordered, names, top_k, top_p, min_p, u, drawn, is_short,
    VOCAB: tl.constexpr, SIZE: tl.constexpr, PADDED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Draw one of the candidates of one row. Program: (row)."""
    row = tl.program_id(0).to(tl.int64)
    places = tl.arange(0, PADDED)
    inside = places < SIZE
    likelihoods = tl.load(ordered + row * SIZE + places, mask=inside, other=0.0)
    first, least = tl.load(ordered + row * SIZE), tl.load(ordered + row * SIZE + SIZE - 1)
    k, p, floor = tl.load(top_k + row), tl.load(top_p + row), tl.load(min_p + row)
    masses = _to_integers(likelihoods)
    running = tl.cumsum(masses, 0)
    total = tl.sum(masses, 0)

    most = tl.where(k > 0, tl.minimum(k, SIZE), SIZE).to(tl.int32)
    mass = tl.where(k > 0, _pick(running, places, most - 1), _WHOLE)
    reached = p * mass.to(tl.float64)
    enough = reached.to(tl.int64)
    enough += (enough.to(tl.float64) < reached).to(tl.int64)
    heads = _count(inside & (running < enough)) + 1
    kept = tl.where(p < 1.0, tl.minimum(heads, most), most)
    likely = tl.maximum(_count(inside & (likelihoods >= floor * first)), 1)
    kept = tl.where(floor > 0.0, tl.minimum(kept, likely), kept)
    kept = tl.maximum(tl.minimum(kept, _count(masses > 0)), 1)
    target = _share_of(_pick(running, places, kept - 1), tl.load(u + row))
    place = tl.minimum(_count(inside & (running <= target)), SIZE - 1)
    likelihood = _pick(likelihoods, places, place)
    rank = place - _count(inside & (likelihoods > likelihood))
    is_beyond = (k > SIZE) | (total < enough)
    tl.store(is_short + row, is_beyond & ((likely == SIZE) | ((k > SIZE) & (p < 1.0))))

    # Equal candidates are in an arbitrary order. Halve the range of ids that has number `rank` of them.
    equal = inside & (likelihoods == likelihood)
    ids = tl.load(names + row * SIZE + places, mask=inside, other=0).to(tl.int32)
    low, high = tl.min(tl.where(equal, ids, VOCAB), 0), tl.max(tl.where(equal, ids, 0), 0)
    while low < high:
        middle = (low + high) // 2
        is_low = _count(equal & (ids <= middle)) > rank
        high = tl.where(is_low, middle, high)
        low = tl.where(is_low, low, middle + 1)
    # Tokens equal to the last candidate may be missing among the candidates.
    if likelihood == least:
        low = _find_equal(probs + row * VOCAB, likelihood, rank, VOCAB, BLOCK)
    tl.store(drawn + row, tl.minimum(low, VOCAB - 1).to(tl.int64))


@triton.jit
def _kept_masses(probs, highest, min_p, row, places, VOCAB: tl.constexpr, MIN_P: tl.constexpr):
    """Return the masses of the tokens at `places` of a row that have at least the share `min_p` of `highest`."""
    some = tl.load(probs + row * VOCAB + places, mask=places < VOCAB, other=0.0)
    if MIN_P:
        some = tl.where(some < tl.load(min_p + row) * tl.load(highest + row), 0.0, some)
    return _to_integers(some)


@triton.jit
def _sum_part(probs, highest, min_p, sums, VOCAB: tl.constexpr, PART: tl.constexpr, MIN_P: tl.constexpr):
    """Sum the kept masses of one part of a row. Program: (row, part)."""
    row, part = tl.program_id(0).to(tl.int64), tl.program_id(1)
    masses = _kept_masses(probs, highest, min_p, row, part * PART + tl.arange(0, PART), VOCAB, MIN_P)
    tl.store(sums + row * tl.num_programs(1) + part, tl.sum(masses, 0))


@triton.jit
def _draw_in_part(
    probs, highest, min_p, sums, u, drawn,
    VOCAB: tl.constexpr, PART: tl.constexpr, PARTS: tl.constexpr, PADDED: tl.constexpr, MIN_P: tl.constexpr,
):  # fmt: skip
    """Find the part with the share `u` of a row's mass, and the token in it. Program: (row)."""
    row = tl.program_id(0).to(tl.int64)
    parts = tl.arange(0, PADDED)
    known = parts < PARTS
    masses = tl.load(sums + row * PARTS + parts, mask=known, other=0)
    ends = tl.cumsum(masses, 0)
    target = _share_of(tl.sum(masses, 0), tl.load(u + row))
    part = tl.minimum(_count(known & (ends <= target)), PARTS - 1)
    start = part * PART
    before = _pick(ends, parts, part) - _pick(masses, parts, part)
    inside = tl.cumsum(_kept_masses(probs, highest, min_p, row, start + tl.arange(0, PART), VOCAB, MIN_P), 0)
    found = start + _count(inside <= target - before)
    tl.store(drawn + row, tl.minimum(found, VOCAB - 1).to(tl.int64))


def draw_candidates(
    probs: torch.Tensor,
    ordered: torch.Tensor,
    names: torch.Tensor,
    filters: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
    u: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Sample an id for each row among its likeliest tokens.

    Return the ids [R] int64, and whether the row keeps more tokens than are given [R] bool.

    probs: [R, vocab] float32.
    ordered: [R, n], the n largest of `probs` in descending order.
    names: [R, n] int64, their ids.
    filters: top_k [R] int64, top_p [R] float64 and min_p [R] float32, as in `engine.sampling.candidates.Filters`.
    u: [R] float64, the share of the kept mass at which the token is.
    """
    (rows, vocab), size = probs.shape, ordered.shape[1]
    drawn = torch.empty(rows, dtype=torch.int64, device=probs.device)
    is_short = torch.empty(rows, dtype=torch.bool, device=probs.device)
    _draw_candidate[(rows,)](
        probs, ordered, names, *filters, u, drawn, is_short,
        VOCAB=vocab, SIZE=size, PADDED=triton.next_power_of_2(size), BLOCK=_WALKED, num_warps=8,
    )  # fmt: skip
    return drawn, is_short


def draw_by_id(probs: torch.Tensor, min_p: torch.Tensor | None, u: torch.Tensor) -> torch.Tensor:
    """Sample an id [R] int64 for each row of `probs` [R, vocab] float32. Tokens are in the order of their ids.

    The arguments are those of `engine.sampling.candidates.draw_by_id`.
    """
    rows, vocab = probs.shape
    parts = triton.cdiv(vocab, _PART)
    highest = probs if min_p is None else probs.amax(dim=1)
    least = probs if min_p is None else min_p
    sums = torch.empty((rows, parts), dtype=torch.int64, device=probs.device)
    drawn = torch.empty(rows, dtype=torch.int64, device=probs.device)
    _sum_part[(rows, parts)](probs, highest, least, sums, VOCAB=vocab, PART=_PART, MIN_P=min_p is not None, num_warps=4)
    _draw_in_part[(rows,)](
        probs, highest, least, sums, u, drawn, VOCAB=vocab, PART=_PART, PARTS=parts,
        PADDED=triton.next_power_of_2(parts), MIN_P=min_p is not None, num_warps=8,
    )  # fmt: skip
    return drawn
