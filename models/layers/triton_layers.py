"""A decoder's small layers in Triton, one launch each. Imported only where they run.

Results are rounded where plain torch rounds them. Every row is computed alone, so a row depends on no other.
"""

# Compile-time constants are in capitals, by Triton's convention.
# ruff: noqa: N803
# mypy: disable-error-code="import-not-found,import-untyped,untyped-decorator,no-untyped-def"

import torch
import triton
import triton.language as tl

_GATED: int = 1024
"""Elements of a row that one program of `gate` computes."""


@triton.jit
def _norm(
    x, change, weight, out, x_row, change_row, eps, SIZE: tl.constexpr, PADDED: tl.constexpr, ADDS: tl.constexpr,
):  # fmt: skip
    """Normalize one row. Program: (row)."""
    program = tl.program_id(0).to(tl.int64)
    places = tl.arange(0, PADDED)
    inside = places < SIZE
    at = x + program * x_row + places
    row = tl.load(at, mask=inside, other=0.0)
    if ADDS:
        row = (row.to(tl.float32) + tl.load(change + program * change_row + places, mask=inside, other=0.0)).to(
            row.dtype
        )
        tl.store(at, row, mask=inside)
    wide = row.to(tl.float32)
    scale = tl.rsqrt(tl.sum(wide * wide, 0) / SIZE + eps)
    normed = (wide * scale).to(row.dtype).to(tl.float32)
    weights = tl.load(weight + places, mask=inside, other=0.0)
    tl.store(out + program * SIZE + places, (normed * weights).to(row.dtype), mask=inside)


@triton.jit
def _rotate(
    x, cos, sin, out, x_row, x_head,
    HEADS: tl.constexpr, PADDED_HEADS: tl.constexpr, HALF: tl.constexpr, PADDED: tl.constexpr,
):  # fmt: skip
    """Rotate the heads of one row. Program: (row)."""
    row = tl.program_id(0).to(tl.int64)
    heads, places = tl.arange(0, PADDED_HEADS)[:, None], tl.arange(0, PADDED)[None, :]
    inside = (heads < HEADS) & (places < HALF)
    at = x + row * x_row + heads * x_head + places
    low = tl.load(at, mask=inside, other=0.0)
    first, second = low.to(tl.float32), tl.load(at + HALF, mask=inside, other=0.0).to(tl.float32)
    angle = row * 2 * HALF + places
    known = places < HALF
    cos_low, cos_high = tl.load(cos + angle, mask=known), tl.load(cos + angle + HALF, mask=known)
    sin_low, sin_high = tl.load(sin + angle, mask=known), tl.load(sin + angle + HALF, mask=known)
    target = out + (row * HEADS + heads) * 2 * HALF + places
    tl.store(target, (first * cos_low + second * sin_low).to(low.dtype), mask=inside)
    tl.store(target + HALF, (second * cos_high + first * sin_high).to(low.dtype), mask=inside)


@triton.jit
def _gate(gate_up, out, row_stride, INNER: tl.constexpr, COUNT: tl.constexpr):
    """Compute silu(gate) * up of a part of one row. Program: (row, part)."""
    row, places = tl.program_id(0).to(tl.int64), tl.program_id(1) * COUNT + tl.arange(0, COUNT)
    inside = places < INNER
    at = gate_up + row * row_stride + places
    gate, up = tl.load(at, mask=inside, other=0.0), tl.load(at + INNER, mask=inside, other=0.0)
    wide = gate.to(tl.float32)
    active = (wide * tl.sigmoid(wide)).to(gate.dtype).to(tl.float32)
    tl.store(out + row * INNER + places, (active * up).to(gate.dtype), mask=inside)


def norm(x: torch.Tensor, weight: torch.Tensor, eps: float, change: torch.Tensor | None = None) -> torch.Tensor:
    """Return x / rms(x) * weight for x [T, size]. The result is contiguous and has x's dtype.

    change: [T, size], added to x in place before the norm.
    """
    rows, size = x.shape
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    _norm[(rows,)](
        x, x if change is None else change, weight, out, x.stride(0), 0 if change is None else change.stride(0), eps,
        SIZE=size, PADDED=triton.next_power_of_2(size), ADDS=change is not None,
        num_warps=8 if size >= 2048 else 4 if size > 256 else 1,
    )  # fmt: skip
    return out


def rotate(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Rotate x [T, heads, head_dim] by cos and sin float32 [T, 1, head_dim]. The result is contiguous, with x's dtype.

    x may be a slice whose last stride is 1.
    sin: with the sign of `RotaryTable`.
    """
    rows, heads, dim = x.shape
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    _rotate[(rows,)](
        x, cos, sin, out, x.stride(0), x.stride(1), HEADS=heads, PADDED_HEADS=triton.next_power_of_2(heads),
        HALF=dim // 2, PADDED=triton.next_power_of_2(dim // 2), num_warps=4,
    )  # fmt: skip
    return out


def gate(gate_up: torch.Tensor) -> torch.Tensor:
    """Return silu(gate) * up [T, inner] for gate_up [T, 2 * inner], where gate comes before up."""
    rows, inner = gate_up.shape[0], gate_up.shape[1] // 2
    out = torch.empty((rows, inner), dtype=gate_up.dtype, device=gate_up.device)
    _gate[(rows, triton.cdiv(inner, _GATED))](gate_up, out, gate_up.stride(0), INNER=inner, COUNT=_GATED, num_warps=4)
    return out
