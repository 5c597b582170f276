"""The attention kernel alone, with the chosen tile shape and with others."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import torch
from torch.nn.attention.bias import causal_lower_right

from bench.gpu.rig import Scale
from engine.attention.tiles import Tiles, TileShape, cut_rows, decode_shape, num_splits, prompt_shape
from engine.device.choice import block_size_for

TIMES: Final = 20


@dataclass(frozen=True, slots=True)
class Load:
    """`count` sequences with `rows` new rows each after `context` keys."""

    name: str
    count: int
    rows: int
    context: int


LOADS: Final = (
    Load("1 decode over 32,000", 1, 1, 32_000),
    Load("32 decodes over 4,000", 32, 1, 4_000),
    Load("128 decodes over 1,000", 128, 1, 1_000),
    Load("a chunk of 2,048", 1, 2048, 0),
    Load("a chunk of 2,048 behind 30,000", 1, 2048, 30_000),
    Load("20 rows behind 32,000", 1, 20, 32_000),
)


def kernel(scale: Scale) -> Mapping[str, Any]:
    """Measure GB/s of KV for decodes and TFLOP/s for prompts, by load and tile shape, the chosen shape first."""
    if scale.device != "cuda":
        return {"skipped": "the kernel needs a GPU"}
    found: dict[str, Any] = {"limits": _limits()}
    for load in LOADS:
        found[load.name] = {"torch, contiguous keys": _torch(scale, load)}
        for shape in _shapes(scale, load):
            label = f"{shape.rows} rows, {shape.keys} keys, {shape.warps} warps, {shape.stages} stages"
            try:
                found[load.name][label] = _measure(scale, load, shape)
            except Exception as error:  # a shape that this GPU has no room for
                found[load.name][label] = type(error).__name__
    return found


def _shapes(scale: Scale, load: Load) -> list[TileShape]:
    model, size = scale.model, block_size_for(scale.device)
    make = decode_shape if load.rows == 1 else prompt_shape
    chosen = make(model.num_heads // model.num_kv_heads, model.head_dim * 2, size)
    others = [replace(chosen, stages=stages) for stages in (2, 3, 4) if stages != chosen.stages]
    if load.rows > 1:
        others += [replace(chosen, lines=128, rows=128, warps=8), replace(chosen, lines=128, rows=128, warps=4)]
    else:
        others += [replace(chosen, warps=warps) for warps in (4, 8)]
    return [chosen, replace(chosen, keys=32), *others]


def _measure(scale: Scale, load: Load, shape: TileShape) -> str:
    from engine.attention.triton_kernels import attend

    model, size, device = scale.model, block_size_for(scale.device), torch.device("cuda")
    group, length = model.num_heads // model.num_kv_heads, load.context + load.rows
    each = -(-length // size)
    blocks = torch.randn((load.count * each, 2, model.num_kv_heads, size, model.head_dim), device=device)
    keys, values = blocks.to(torch.bfloat16).unbind(1)
    tables = torch.randperm(load.count * each, device=device).to(torch.int32).view(load.count, each)
    sequences = [(at, at * load.rows, load.rows, load.context) for at in range(load.count)]
    spans, starts = cut_rows(sequences, shape.lines // group)
    processors = torch.cuda.get_device_properties(device).multi_processor_count
    tiles = Tiles(
        torch.tensor(spans, dtype=torch.int32, device=device),
        torch.tensor(starts, dtype=torch.int64, device=device),
        num_splits(len(starts), model.num_kv_heads, processors),
        shape,
    )
    rows = load.count * load.rows
    q = torch.randn((rows, model.num_heads, model.head_dim), device=device).to(torch.bfloat16)
    out = torch.empty_like(q)
    call = model.attention_calls()[0]
    return _speed(scale, load, _seconds(lambda: attend(call, (keys, values), q, tables, tiles, out)))


def _torch(scale: Scale, load: Load) -> str:
    """Measure torch's attention over contiguous keys: the fastest that torch has, without blocks."""
    model, length = scale.model, load.context + load.rows
    q, k, v = (
        torch.randn((load.count, heads, rows, model.head_dim), device="cuda", dtype=torch.bfloat16)
        for heads, rows in ((model.num_heads, load.rows), (model.num_kv_heads, length), (model.num_kv_heads, length))
    )
    mask = None if load.rows == 1 else causal_lower_right(load.rows, length)
    attention = torch.nn.functional.scaled_dot_product_attention
    try:
        return _speed(scale, load, _seconds(lambda: attention(q, k, v, attn_mask=mask, enable_gqa=True)))
    except Exception as error:  # a version of torch without a kernel for this load
        return type(error).__name__


def _limits() -> Mapping[str, str]:
    """Measure the memory's speed with a long negation, and the tensor cores' with a large product."""
    there, here = (torch.ones(1 << 29, dtype=torch.float32, device="cuda") for _ in range(2))
    a, b, c = (torch.randn((8192, 8192), device="cuda", dtype=torch.bfloat16) for _ in range(3))
    moved = 8 * len(here) / _seconds(lambda: torch.neg(here, out=there))
    multiplied = 2 * 8192**3 / _seconds(lambda: torch.mm(a, b, out=c))
    return {"memory": f"{moved / 1e9:.0f} GB/s", "matrix product": f"{multiplied / 1e12:.0f} TFLOP/s"}


def _seconds(compute: Callable[[], object]) -> float:
    """Return the seconds of one call, averaged over TIMES calls in a graph.

    A launch from Python takes longer than some kernels.
    """
    compute()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(TIMES):
            compute()
    graph.replay()
    torch.cuda.synchronize()
    began = time.perf_counter()
    graph.replay()
    torch.cuda.synchronize()
    return (time.perf_counter() - began) / TIMES


def _speed(scale: Scale, load: Load, seconds: float) -> str:
    """Format the time, and the speed: GB/s of KV for decodes, TFLOP/s for prompts."""
    model, length = scale.model, load.context + load.rows
    if load.rows == 1:
        read = 4 * load.count * length * model.num_kv_heads * model.head_dim
        return f"{seconds * 1e6:.0f} us, {read / seconds / 1e9:.0f} GB/s"
    pairs = load.count * load.rows * (load.context + (load.rows + 1) / 2)
    return f"{seconds * 1e6:.0f} us, {4 * pairs * model.num_heads * model.head_dim / seconds / 1e12:.0f} TFLOP/s"
