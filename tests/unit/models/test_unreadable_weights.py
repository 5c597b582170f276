"""Weights that belong to another user: the error names the missing right, not a damaged file."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from models.errors import WeightsError
from models.weights import load_weights


@pytest.fixture
def other_user() -> Iterator[None]:
    """Become a user without the rights of root for the rest of the test."""
    uid = os.geteuid()
    if uid == 0:
        os.seteuid(10001)
    yield
    os.seteuid(uid)


@pytest.fixture
def unreadable(tmp_path: Path) -> Path:
    """Write a whole file that its mode keeps from everybody."""
    file = tmp_path / "model.safetensors"
    save_file({"a": torch.zeros(1)}, file)
    file.chmod(0)
    return file


def test_unreadable_weights_name_the_missing_right(unreadable: Path, other_user: None) -> None:
    with pytest.raises(WeightsError, match=f"may not be read by this user \\(uid {os.geteuid()}\\)") as caught:
        load_weights([unreadable], {"a": torch.zeros(1)}, lambda _: False)
    assert "truncated" not in str(caught.value)
