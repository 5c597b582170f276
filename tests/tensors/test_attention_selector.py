from dataclasses import replace

import pytest
import torch

from engine.attention import backend
from engine.attention.backend import AttentionMetadata, AttentionSpec
from engine.attention.backends import BACKENDS
from engine.attention.selector import load_backend, select_backend
from engine.errors import EngineError

PANGU = AttentionSpec("npu", torch.bfloat16, 32, 8, 128, 128)
ON_CPU = AttentionSpec("cpu", torch.bfloat16, 9, 3, 64, 64)
ON_GPU = AttentionSpec("cuda", torch.bfloat16, 32, 8, 128, 64)
NO_ATTENTION = AttentionSpec("npu", torch.bfloat16, 0, 0, 0, 128)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (PANGU, "npu"),
        (replace(PANGU, num_heads=12, num_kv_heads=6), "npu"),
        (replace(PANGU, head_dim=192), "npu"),
        (replace(PANGU, block_size=512), "npu"),
        (replace(PANGU, head_dim=64), "torch"),
        (replace(PANGU, block_size=64), "torch"),
        (replace(PANGU, block_size=640), "torch"),
        (replace(PANGU, num_heads=65, num_kv_heads=1), "torch"),
        (replace(PANGU, dtype=torch.float32), "torch"),
        (replace(PANGU, dtype=torch.float16), "reference"),
        (ON_CPU, "torch"),
        (replace(ON_CPU, dtype=torch.float32), "torch"),
        (replace(ON_CPU, dtype=torch.float16), "reference"),
        (replace(ON_GPU, head_dim=192), "torch"),
        (replace(ON_GPU, block_size=24), "torch"),
        (replace(ON_GPU, num_heads=33, num_kv_heads=1), "torch"),
        (replace(ON_GPU, dtype=torch.float16), "reference"),
        (replace(ON_CPU, device_type="xpu"), "reference"),
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
        (replace(PANGU, head_dim=64), "npu: head size 64 is not one of 128, 192"),
        (replace(PANGU, block_size=64), "npu: blocks of 64 tokens are not a multiple of 128"),
        (replace(PANGU, block_size=640), "npu: blocks of 640 tokens are larger than 512"),
        (replace(PANGU, num_heads=65, num_kv_heads=1), "npu: more than 64 query heads share a KV head"),
        (replace(PANGU, dtype=torch.float32), "npu: float32 is not one of bfloat16"),
        (ON_CPU, "npu: does not run on cpu"),
        (ON_CPU, "placeholder: only for models without attention"),
        (ON_CPU, "cuda: does not run on cpu"),
        (replace(ON_GPU, head_dim=192), "cuda: head size 192 is not one of 16, 32, 64, 128, 256"),
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
    spec = replace(ON_GPU, dtype=dtype, head_dim=head_dim, block_size=block_size)
    monkeypatch.setattr(backend, "find_spec", lambda name: object())
    assert select_backend(spec).name == "cuda"
    monkeypatch.setattr(backend, "find_spec", lambda name: None)
    selection = select_backend(spec)
    assert selection.name == "torch"
    assert "cuda: triton is not installed" in str(selection)


def test_wanted_backend_is_selected_only_if_it_supports_spec() -> None:
    assert select_backend(PANGU, "reference").name == "reference"
    with pytest.raises(EngineError, match="--attention npu: head size 64 is not one of 128, 192"):
        select_backend(replace(PANGU, head_dim=64), "npu")
    with pytest.raises(EngineError, match="--attention npu: the model has no attention"):
        select_backend(NO_ATTENTION, "npu")


def test_every_backend_loads_and_has_its_own_numerics() -> None:
    assert len({load_backend(name).numerics for name in BACKENDS}) == len(BACKENDS)


def test_unknown_name_raises_error_that_lists_backends() -> None:
    with pytest.raises(EngineError, match="placeholder, npu, cuda, torch, reference"):
        load_backend("flash")


def test_placeholder_raises_when_asked_for_attention() -> None:
    nothing = torch.empty(0)
    context = load_backend("placeholder")(NO_ATTENTION, nothing).begin_step(AttentionMetadata((), (), (), nothing))
    with pytest.raises(EngineError, match="layer 3 of a model without attention heads"):
        context.attention(3, nothing, nothing, nothing)
