"""Fixtures that run the NPU backend's own code on operators declared by the schemas of torch_npu."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from tests.contract.npu_operators import NpuOperators
from tests.fake_npu.device import FakeNpu
from tests.tiny_models import make_tiny_model

_HERE = f"{Path(__file__).parent}/"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if str(item.path).startswith(_HERE) and not item.get_closest_marker("torch_npu"):
            item.add_marker(pytest.mark.contract)


@pytest.fixture(scope="session")
def npu_operators() -> NpuOperators:
    """Define the operators once per process, because torch cannot remove them."""
    return NpuOperators()


@pytest.fixture(scope="session")
def pangu(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a random model shaped like openPangu-Embedded: heads of 128, three query heads per KV head, biases."""
    return make_tiny_model(
        tmp_path_factory.mktemp("contract") / "pangu",
        architecture="PanguEmbeddedForCausalLM",
        hidden=96,
        head_dim=128,
        heads=6,
        kv_heads=2,
        layers=2,
        bias=True,
        max_positions=1024,
    )


@contextmanager
def npu_opened(operators: NpuOperators) -> Iterator[FakeNpu]:
    """Replace the device that `device="npu"` opens with a fake one, while the context is open."""
    threads = torch.get_num_threads()
    device = FakeNpu()
    operators.watchers.append(device.fake.computed)
    operators.calls.clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("engine.worker.worker.open_device", lambda name: device)
        yield device
    operators.watchers.remove(device.fake.computed)
    torch.set_num_threads(threads)


@pytest.fixture
def npu(npu_operators: NpuOperators) -> Iterator[FakeNpu]:
    """Open a fresh fake device for one test."""
    with npu_opened(npu_operators) as device:
        yield device
