"""Accelerators of a machine, by their files and by the variable of their driver."""

from pathlib import Path

import pytest

from engine.executor import device_shares
from engine.executor.device_shares import variables_for, visible_devices


def test_devices_are_found_by_their_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in (2, 3):
        (tmp_path / f"nvidia{number}").touch()
    (tmp_path / "nvidiactl").touch()
    monkeypatch.setattr(device_shares, "_FILES", {"cuda": f"{tmp_path}/nvidia[0-9]*"})
    assert visible_devices("cuda", {}) == ("0", "1")
    assert visible_devices("cpu", {}) == ()


@pytest.mark.parametrize(("named", "found"), [("3, 1", ("3", "1")), ("GPU-8a,MIG-b2", ("GPU-8a", "MIG-b2")), ("", ())])
def test_variable_of_the_driver_names_the_devices(named: str, found: tuple[str, ...]) -> None:
    assert visible_devices("cuda", {"CUDA_VISIBLE_DEVICES": named}) == found
    assert visible_devices("npu", {"ASCEND_RT_VISIBLE_DEVICES": named}) == found


def test_process_sees_its_own_device_only() -> None:
    assert variables_for("npu", "7") == {"ASCEND_RT_VISIBLE_DEVICES": "7"}
    assert variables_for("cpu", "") == {}
