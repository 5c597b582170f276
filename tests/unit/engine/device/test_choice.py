from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from engine.device import choice as device_choice
from engine.device.choice import block_size_for, choose_device, step_tokens_for


@pytest.mark.parametrize(
    ("npu", "torch_npu", "gpu", "cuda_build", "expected"),
    [
        (True, True, False, False, "npu"),
        (True, True, True, True, "npu"),
        (True, False, False, False, "cpu"),
        (True, False, True, True, "cuda"),
        (False, False, True, True, "cuda"),
        (False, False, True, False, "cpu"),
        (False, True, False, True, "cpu"),
        (False, False, False, False, "cpu"),
    ],
)
def test_auto_chooses_accelerator_only_if_present_and_usable(
    npu: bool, torch_npu: bool, gpu: bool, cuda_build: bool, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device_choice, "NPU_FILES", "/dev/null" if npu else "/dev/none[0-9]*")
    monkeypatch.setattr(device_choice, "GPU_FILES", "/dev/null" if gpu else "/dev/none[0-9]*")
    monkeypatch.setattr(device_choice, "find_spec", lambda name: object() if torch_npu else None)
    monkeypatch.setattr(device_choice, "torch_is_built_for_cuda", lambda: cuda_build)
    assert choose_device("auto") == expected
    assert choose_device("cuda") == "cuda"


@pytest.mark.parametrize(
    ("version_file", "expected"),
    [
        ("__version__ = '2.13.0+cpu'\ncuda: Optional[str] = None\n", False),
        ("__version__ = '2.13.0'\ncuda: Optional[str] = '13.0'\n", True),
    ],
)
def test_build_of_torch_is_read_without_importing_it(
    version_file: str, expected: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "version.py").write_text(version_file)
    spec = ModuleSpec("torch", None, origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr(device_choice, "find_spec", lambda name: spec)
    assert device_choice.torch_is_built_for_cuda() is expected


def test_block_size_follows_device_operators() -> None:
    assert (block_size_for("cpu"), block_size_for("cuda"), block_size_for("npu")) == (64, 64, 128)


def test_accelerators_compute_more_tokens_in_a_step() -> None:
    assert (step_tokens_for("cpu"), step_tokens_for("cuda"), step_tokens_for("npu")) == (512, 2048, 2048)
