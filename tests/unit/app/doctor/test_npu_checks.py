"""Findings of `ebb doctor` about an NPU, for every incomplete installation."""

from dataclasses import replace
from pathlib import Path

import pytest

from app.doctor.npu_checks import LIBRARIES, NpuMachine, judge_npu

COMPLETE = NpuMachine([Path("/dev/davinci0")], [], "2.13.0+cpu", "2.13.0", [], [])
NOTHING = NpuMachine([], [], "2.13.0+cpu", "", [], [])
SCRIPT = Path("/usr/local/Ascend/ascend-toolkit/set_env.sh")


def test_complete_npu_machine_is_ok() -> None:
    finding = judge_npu("auto", COMPLETE)
    assert (finding.level, finding.text) == ("ok", "1 found, torch_npu 2.13.0, CANN's libraries load")


@pytest.mark.parametrize("device", ["auto", "cpu"])
def test_machine_without_npu_is_ok(device: str) -> None:
    assert judge_npu(device, NOTHING).level == "ok"


@pytest.mark.parametrize(
    ("machine", "text", "advice"),
    [
        (replace(COMPLETE, torch_npu=""), "1 found, but torch_npu is not installed", "make setup DEVICE=npu"),
        (NOTHING, "no /dev/davinci*, and torch_npu is not installed", "make setup DEVICE=npu"),
        (
            replace(COMPLETE, missing=LIBRARIES[:2], set_env=[SCRIPT]),
            "CANN is not found: libascendcl.so, libhccl.so",
            f"source {SCRIPT}",
        ),
        (replace(COMPLETE, missing=LIBRARIES), "libacl_tdt_channel.so", "install CANN (docs/guides/ascend.md)"),
        (replace(COMPLETE, files=[]), "but there is no /dev/davinci*", "--device /dev/davinci_manager"),
        (replace(COMPLETE, unreadable=COMPLETE.files), "/dev/davinci0 cannot be opened by this user", "HwHiAiUser"),
        (replace(COMPLETE, torch_npu="2.9.0"), "torch_npu 2.9.0 does not match torch 2.13.0", "the same version"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_incomplete_npu_machine_gets_finding_and_advice(machine: NpuMachine, text: str, advice: str) -> None:
    finding = judge_npu("npu", machine)
    assert finding.level == "fail"
    assert text in finding.text
    assert advice in finding.advice


def test_incomplete_npu_is_only_a_warning_if_not_requested() -> None:
    assert judge_npu("cpu", replace(COMPLETE, torch_npu="")).level == "warn"
    assert judge_npu("auto", replace(COMPLETE, torch_npu="")).level == "warn"
    assert judge_npu("auto", replace(NOTHING, torch_npu="2.13.0", missing=LIBRARIES)).level == "warn"
    assert judge_npu("auto", replace(COMPLETE, missing=LIBRARIES)).level == "fail"


def test_torch_breaks_if_extension_lacks_its_libraries() -> None:
    assert replace(COMPLETE, missing=LIBRARIES).breaks_torch
    assert not COMPLETE.breaks_torch
    assert not replace(NOTHING, missing=LIBRARIES).breaks_torch
