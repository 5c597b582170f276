"""Fixtures of tests that need an accelerator. The tests are skipped on machines without one."""

import pytest
import torch

from engine.worker.torch.accelerator import AcceleratorDevice


@pytest.fixture(scope="session")
def device() -> AcceleratorDevice:
    """Open the accelerator of this machine."""
    found = torch.accelerator.current_accelerator(check_available=True)
    if found is None:
        pytest.skip("this machine has no accelerator")
    device = AcceleratorDevice(found.type)
    device.prepare()
    return device


@pytest.fixture(scope="session")
def npu(device: AcceleratorDevice) -> AcceleratorDevice:
    """Open the accelerator of this machine if it is an NPU."""
    if device.name != "npu":
        pytest.skip(f"this machine has a {device.name}, but no NPU")
    return device


@pytest.fixture(scope="session")
def cuda(device: AcceleratorDevice) -> AcceleratorDevice:
    """Open the accelerator of this machine if it is a GPU."""
    if device.name != "cuda":
        pytest.skip(f"this machine has a {device.name}, but no GPU")
    return device
