from dataclasses import replace
from typing import Any

import pytest
import torch

from cache_tiers.layout.kv_pool import KVPool
from cache_tiers.layout.layout import BlockLayout, KVShape
from engine.api.errors import EngineError
from engine.attention import backend
from engine.attention.backend import AttentionMetadata, AttentionSpec
from engine.attention.backends import BACKENDS
from engine.attention.selector import load_backend, select_backend
from models.interface.attention_call import plain_calls

PANGU = AttentionSpec("npu", torch.bfloat16, plain_calls(2, 32, 8, 128), 128)
ON_CPU = AttentionSpec("cpu", torch.bfloat16, plain_calls(2, 9, 3, 64), 64)
ON_GPU = AttentionSpec("cuda", torch.bfloat16, plain_calls(2, 32, 8, 128), 64)
NO_ATTENTION = AttentionSpec("npu", torch.bfloat16, (), 128)


def with_calls(spec: AttentionSpec, **changes: Any) -> AttentionSpec:
    """Change the last call of `spec`."""
    return replace(spec, calls=(*spec.calls[:-1], replace(spec.calls[-1], **changes)))


def with_heads(spec: AttentionSpec, heads: int, kv_heads: int, head_dim: int = 128) -> AttentionSpec:
    return replace(spec, calls=plain_calls(2, heads, kv_heads, head_dim))


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (PANGU, "npu"),
        (with_heads(PANGU, 12, 6), "npu"),
        (with_heads(PANGU, 32, 8, 192), "npu"),
        (replace(PANGU, block_size=512), "npu"),
        (with_heads(PANGU, 32, 8, 64), "torch"),
        (replace(PANGU, block_size=64), "torch"),
        (replace(PANGU, block_size=640), "torch"),
        (with_heads(PANGU, 65, 1), "torch"),
        (replace(PANGU, dtype=torch.float32), "torch"),
        (replace(PANGU, dtype=torch.float16), "reference"),
        (ON_CPU, "torch"),
        (replace(ON_CPU, dtype=torch.float32), "torch"),
        (replace(ON_CPU, dtype=torch.float16), "reference"),
        (with_heads(ON_GPU, 32, 8, 512), "torch"),
        (replace(ON_GPU, block_size=24), "torch"),
        (with_heads(ON_GPU, 33, 1), "torch"),
        (replace(ON_GPU, dtype=torch.float16), "reference"),
        (replace(ON_CPU, device_type="xpu"), "reference"),
        (with_calls(ON_GPU, v_dim=512), "torch"),
        (with_calls(PANGU, kv_heads=4, scale=0.5), "npu"),
        (with_calls(PANGU, softcap=30.0), "torch"),
        (with_calls(ON_CPU, window=8, softcap=30.0, sinks=True, v_dim=32), "torch"),
        (NO_ATTENTION, "placeholder"),
        (replace(NO_ATTENTION, device_type="cpu"), "placeholder"),
    ],
    ids=str,
)
def test_first_supporting_backend_is_selected(spec: AttentionSpec, expected: str) -> None:
    selection = select_backend(spec)
    assert selection.name == expected
    assert [name for name, _ in selection.passed_over] == list(BACKENDS)[: list(BACKENDS).index(expected)]


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        (with_heads(PANGU, 32, 8, 64), "npu: head size 64 is not one of 128, 192"),
        (replace(PANGU, block_size=64), "npu: blocks of 64 tokens are not a multiple of 128"),
        (replace(PANGU, block_size=640), "npu: blocks of 640 tokens are larger than 512"),
        (with_heads(PANGU, 65, 1), "npu: more than 64 query heads share a KV head"),
        (replace(PANGU, dtype=torch.float32), "npu: float32 is not one of bfloat16"),
        (with_calls(PANGU, window=8), "npu: does not compute sliding windows"),
        (with_calls(PANGU, chunk=8), "npu: does not compute sliding windows"),
        (with_calls(PANGU, softcap=30.0), "npu: does not cap scores"),
        (with_calls(PANGU, sinks=True), "npu: does not compute attention sinks"),
        (with_calls(PANGU, v_dim=64), "npu: heads of K and V differ in size"),
        (ON_CPU, "npu: does not run on cpu"),
        (ON_CPU, "placeholder: only for models without attention"),
        (ON_CPU, "cuda: does not run on cpu"),
        (with_heads(ON_GPU, 32, 8, 512), "cuda: heads are wider than 256"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_rejected_backends_are_listed_with_reason(spec: AttentionSpec, reason: str) -> None:
    assert reason in str(select_backend(spec))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize("head_dim", [64, 128])
@pytest.mark.parametrize("block_size", [64, 128])
def test_gpu_without_triton_falls_back_to_torch(
    dtype: torch.dtype, head_dim: int, block_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = replace(with_heads(ON_GPU, 32, 8, head_dim), dtype=dtype, block_size=block_size)
    monkeypatch.setattr(backend, "find_spec", lambda name: object())
    assert select_backend(spec).name == "cuda"
    monkeypatch.setattr(backend, "find_spec", lambda name: None)
    selection = select_backend(spec)
    assert selection.name == "torch"
    assert "cuda: triton is not installed" in str(selection)


def test_wanted_backend_is_selected_only_if_it_supports_spec() -> None:
    assert select_backend(PANGU, "reference").name == "reference"
    with pytest.raises(EngineError, match="--attention npu: head size 64 is not one of 128, 192"):
        select_backend(with_heads(PANGU, 32, 8, 64), "npu")
    with pytest.raises(EngineError, match="--attention npu: the model has no attention"):
        select_backend(NO_ATTENTION, "npu")


def test_every_backend_loads_and_has_its_own_numerics() -> None:
    assert len({load_backend(name).numerics for name in BACKENDS}) == len(BACKENDS)


def test_unknown_name_raises_error_that_lists_backends() -> None:
    with pytest.raises(EngineError, match="placeholder, npu, cuda, torch, reference"):
        load_backend("flash")


def test_placeholder_raises_when_asked_for_attention() -> None:
    nothing = torch.empty(0)
    pool = KVPool(torch.empty(8), BlockLayout((KVShape(1, 1, 1),), 1, 4))
    context = load_backend("placeholder")(NO_ATTENTION, pool).begin_step(AttentionMetadata((), (), (), nothing))
    with pytest.raises(EngineError, match="a model that declared no attention made attention call 3"):
        context.attention(3, nothing, nothing, nothing)
