"""The one place that knows cpu, cuda and npu apart."""

from typing import Protocol

import torch

from engine.errors import EngineError
from engine.worker.host_resources import available_memory, usable_cores


class Device(Protocol):
    """What the worker needs of a device."""

    name: str
    torch_device: torch.device

    def prepare(self) -> None:
        """Process-wide settings of the model thread; called once, before the model is loaded."""

    def synchronize(self) -> None:
        """Return when everything that was asked of the device is done."""

    def available_memory(self) -> int:
        """Bytes that could be allocated now."""

    def instruction_set(self) -> str:
        """What the kernels may be chosen by: part of the numerics id."""

    def host_bytes(self, tensor: torch.Tensor) -> memoryview | None:
        """A contiguous tensor's memory as writable bytes, None where the host cannot address it."""


class CpuDevice:
    """The host itself: work is done when the call returns, and all memory is the host's."""

    name = "cpu"

    def __init__(self) -> None:
        self.torch_device = torch.device("cpu")

    def prepare(self) -> None:
        """As many threads as this process may use cores; more would wait for each other at every kernel's end."""
        torch.set_num_threads(usable_cores())

    def synchronize(self) -> None:
        """Nothing is ever under way."""

    def available_memory(self) -> int:
        """Of the host, within the process's limits."""
        return available_memory()

    def instruction_set(self) -> str:
        """torch's own level, and what oneDNN picks its bfloat16 kernels by."""
        capabilities = torch.cpu.get_capabilities()
        extra = [name for name in ("avx512_bf16", "amx_bf16", "bf16") if capabilities.get(name)]
        return "+".join([torch.backends.cpu.get_cpu_capability(), *extra])

    def host_bytes(self, tensor: torch.Tensor) -> memoryview | None:
        """Shares the tensor's memory; keep the tensor alive."""
        return tensor.view(-1).view(torch.uint8).numpy().data


class AcceleratorDevice:
    """cuda or npu through torch.accelerator: no more than what both have in common."""

    def __init__(self, name: str) -> None:
        found = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
        if found is None or found.type != name:
            raise EngineError(f"this machine has no usable {name} device (found: {found or 'none'})")
        self.name = name
        self.torch_device = torch.device(name, torch.accelerator.current_device_index())

    def prepare(self) -> None:
        """The host's threads only feed the device."""
        torch.set_num_threads(1)

    def synchronize(self) -> None:
        """Wait for every stream of the device."""
        torch.accelerator.synchronize(self.torch_device)

    def available_memory(self) -> int:
        """Free bytes as the driver sees them."""
        free, _total = torch.accelerator.get_memory_info(self.torch_device)
        return int(free)

    def instruction_set(self) -> str:
        """The kind of the device; its exact model is not known through torch.accelerator."""
        return self.name

    def host_bytes(self, tensor: torch.Tensor) -> memoryview | None:  # noqa: ARG002
        """The host cannot address it."""
        return None


def open_device(name: str) -> Device:
    """name: "cpu", "cuda" or "npu"; raises EngineError if the machine does not have it."""
    if name == "cpu":
        return CpuDevice()
    if name in ("cuda", "npu"):
        return AcceleratorDevice(name)
    raise EngineError(f"no device is called {name!r}; there are cpu, cuda and npu")
