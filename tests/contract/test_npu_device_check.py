"""The check of an NPU before it serves: a working device passes, and one that computes something else fails."""

from pathlib import Path

import pytest
import torch

from engine.device_check import comparison
from engine.device_check.check import TOLERANCE
from engine.device_check.comparison import logits_distance
from models.interface.causal_lm import CausalLM
from models.layers.kinds import TORCH_LAYERS, LayerKinds
from models.registry import load_model
from tests.contract.npu_rig import BLOCK
from tests.fake_npu.device import FakeNpu


def distance(device: FakeNpu, model: Path) -> float:
    return logits_distance(model, device, torch.bfloat16, attention="auto", block_size=BLOCK)


@pytest.fixture(params=[False, True], ids=["plain", "quantized"])
def is_quantized(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Have the model's folder taken for a quantized one, which the CPU cannot load."""
    if request.param:

        def load(folder: Path, dtype: torch.dtype, device: torch.device, layers: LayerKinds) -> CausalLM:
            assert layers is not TORCH_LAYERS, "the CPU cannot load a quantized folder"
            return load_model(folder, dtype, device, layers)

        monkeypatch.setattr(comparison, "holds_quantized", lambda config: True)
        monkeypatch.setattr(comparison, "load_model", load)
    return bool(request.param)


@pytest.mark.usefixtures("is_quantized")
def test_working_device_is_within_tolerance(npu: FakeNpu, pangu: Path) -> None:
    assert distance(npu, pangu) < TOLERANCE / 2


@pytest.mark.usefixtures("is_quantized")
@pytest.mark.parametrize("factor", [0.0, 3.0], ids=["nothing computed", "wrong scale"])
def test_device_that_computes_wrong_attention_exceeds_tolerance(
    factor: float, npu: FakeNpu, pangu: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from engine.attention.npu import _NpuContext

    right = _NpuContext._attend
    monkeypatch.setattr(_NpuContext, "_attend", lambda *arguments: right(*arguments) * factor)
    assert distance(npu, pangu) > TOLERANCE


def test_device_that_returns_nan_has_no_distance(npu: FakeNpu, pangu: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from engine.attention.npu import _NpuContext

    right = _NpuContext._attend
    monkeypatch.setattr(_NpuContext, "_attend", lambda *arguments: right(*arguments) * float("nan"))
    assert not distance(npu, pangu) <= TOLERANCE
