"""The memory bandwidth of an accelerator, from what its driver states."""

from types import SimpleNamespace

import pytest
import torch

from engine.worker.torch.accelerator import AcceleratorDevice


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> AcceleratorDevice:
    """Open a device on a machine that seems to have a GPU."""
    monkeypatch.setattr("torch.accelerator.is_available", lambda: True)
    monkeypatch.setattr("torch.accelerator.current_accelerator", lambda: torch.device("cuda"))
    monkeypatch.setattr("torch.accelerator.current_device_index", lambda: 0)
    return AcceleratorDevice("cuda")


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({"memory_clock_rate": 3_201_000, "memory_bus_width": 6144}, 4_916_736_000_000),
        ({"memory_clock_rate": 0, "memory_bus_width": 6144}, None),
        ({"memory_bus_width": 384}, None),
    ],
    ids=["stated", "clock of zero", "no clock"],
)
def test_bandwidth_is_clock_times_width_if_both_are_stated(
    gpu: AcceleratorDevice, properties: dict[str, int], expected: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compare with an H200, whose data sheet says 4.8 TB/s."""
    monkeypatch.setattr("torch.cuda.get_device_properties", lambda _: SimpleNamespace(**properties))
    assert gpu.memory_bandwidth() == expected


def test_bandwidth_of_an_npu_is_unknown(gpu: AcceleratorDevice) -> None:
    gpu.name = "npu"
    assert gpu.memory_bandwidth() is None
