"""Division of accelerators: one for each process, in the order of their numbers."""

from pathlib import Path

import pytest

from engine.errors import EngineError
from engine.executor import device_shares as module
from engine.executor.device_shares import device_shares, showing_only


@pytest.fixture
def gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give this machine the device files of eleven GPUs."""
    for number in range(11):
        (tmp_path / f"nvidia{number}").touch()
    (tmp_path / "nvidiactl").touch()
    monkeypatch.setattr(module, "_FILES", {"cuda": f"{tmp_path}/nvidia[0-9]*"})
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


@pytest.mark.usefixtures("gpus")
def test_devices_are_found_by_their_files() -> None:
    assert device_shares("cuda", 11) == [str(number) for number in range(11)]
    assert device_shares("cuda", 2) == ["0", "1"]


@pytest.mark.usefixtures("gpus")
def test_too_few_devices_are_refused() -> None:
    with pytest.raises(EngineError, match="12 replicas need 12 cuda devices, one each, and this machine shows 11"):
        device_shares("cuda", 12)


@pytest.mark.usefixtures("gpus")
@pytest.mark.parametrize(("named", "found"), [("3, 1", ["3", "1"]), ("GPU-8a,MIG-b2", ["GPU-8a", "MIG-b2"])])
def test_variable_of_the_driver_names_the_devices(
    monkeypatch: pytest.MonkeyPatch, named: str, found: list[str]
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", named)
    assert device_shares("cuda", 2) == found
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    with pytest.raises(EngineError, match="this machine shows 0"):
        device_shares("cuda", 1)


def test_process_sees_its_own_device_only() -> None:
    assert showing_only("npu", "7", {"A": "b"}) == {"A": "b", "ASCEND_RT_VISIBLE_DEVICES": "7"}
    assert showing_only("cpu", device_shares("cpu", 3)[2], {"A": "b"}) == {"A": "b"}
