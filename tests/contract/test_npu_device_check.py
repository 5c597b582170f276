"""The check of an NPU before it serves: a working device passes, and one that computes something else fails."""

from pathlib import Path

import pytest
import torch

from engine.device_check.check import TOLERANCE
from engine.device_check.comparison import logits_distance
from tests.contract.npu_rig import BLOCK
from tests.fake_npu.device import FakeNpu


def distance(device: FakeNpu, model: Path) -> float:
    return logits_distance(model, device, torch.bfloat16, attention="auto", block_size=BLOCK)


def test_working_device_is_within_tolerance(npu: FakeNpu, pangu: Path) -> None:
    assert 0 < distance(npu, pangu) < TOLERANCE / 2


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
