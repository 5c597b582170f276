import pytest

from engine import device_choice
from engine.device_choice import block_size_for, choose_device


@pytest.mark.parametrize(
    ("files", "installed", "expected"),
    [(True, True, "npu"), (True, False, "cpu"), (False, True, "cpu"), (False, False, "cpu")],
)
def test_auto_chooses_npu_only_if_present_and_usable(
    files: bool, installed: bool, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device_choice, "NPU_FILES", "/dev/null" if files else "/dev/none[0-9]*")
    monkeypatch.setattr(device_choice, "find_spec", lambda name: object() if installed else None)
    assert choose_device("auto") == expected
    assert choose_device("cuda") == "cuda"


def test_block_size_follows_device_operators() -> None:
    assert (block_size_for("cpu"), block_size_for("cuda"), block_size_for("npu")) == (64, 64, 128)
