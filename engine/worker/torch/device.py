"""The worker's interface to a device. Only this module and `accelerator` distinguish cpu, cuda and npu."""

from collections.abc import Callable, Sequence
from typing import Protocol

import torch

from cache_tiers.npu.streams import DeviceMemory
from engine.errors import EngineError
from engine.worker.host_resources import available_memory, usable_cores
from models.layers.kinds import TORCH_LAYERS, LayerKinds


class Graph(Protocol):
    """Device work that is captured once and can be replayed with the same memory and shapes, and new contents."""

    def capture(self, compute: Callable[[], torch.Tensor]) -> torch.Tensor:
        """Capture the device work of `compute` and return its result, which every replay overwrites. Call once."""

    def replay(self, seq_lens: Sequence[int]) -> None:
        """Queue the captured work on the model's stream.

        seq_lens: lengths for every attention call, in place of the captured ones. Lengths are host arguments on some
            devices, so a replay cannot read new ones from memory.
        """


class Device(Protocol):
    """The device that computes the model.

    name: selects the attention backend.
    torch_device: the device of the model's tensors.
    """

    name: str
    torch_device: torch.device
    memory: DeviceMemory | None
    """Memory of the device; None where it is the host's own."""

    def prepare(self) -> None:
        """Apply process-wide settings from the model thread. Called once, before the model is loaded."""

    def synchronize(self) -> None:
        """Wait until the device has finished all queued work of the model."""

    def available_memory(self) -> int:
        """Return the number of bytes that could be allocated now."""

    def instruction_set(self) -> str:
        """Return the properties of the hardware that may affect the choice of kernels, a part of the numerics id."""

    def layers(self, *, check: bool) -> LayerKinds:
        """Return the best implementations of a model's small layers on this device.

        check: validate calls of fused operators against their documented limits.
        """

    def new_graph(self) -> Graph | None:
        """Create a graph, or return None if the device does not capture work.

        Graphs may share memory, so a replay may overwrite the results of other graphs.
        """


class CpuDevice:
    """The host as a device: work is done when a call returns, and all memory is host memory."""

    name = "cpu"
    memory: DeviceMemory | None = None

    def __init__(self) -> None:
        self.torch_device = torch.device("cpu")

    def prepare(self) -> None:
        """Set one thread per usable core. More threads would wait for each other at the end of every kernel."""
        torch.set_num_threads(usable_cores())

    def synchronize(self) -> None:
        """Do nothing, because no work is ever in flight."""

    def available_memory(self) -> int:
        """Return the free host memory in bytes, within the limits of the process."""
        return available_memory()

    def instruction_set(self) -> str:
        """Return torch's CPU capability, and the features by which oneDNN chooses its bfloat16 kernels."""
        capabilities = torch.cpu.get_capabilities()
        extra = [name for name in ("avx512_bf16", "amx_bf16", "bf16") if capabilities.get(name)]
        return "+".join([torch.backends.cpu.get_cpu_capability(), *extra])

    def layers(self, *, check: bool) -> LayerKinds:  # noqa: ARG002
        """Return the layers in plain torch."""
        return TORCH_LAYERS

    def new_graph(self) -> Graph | None:
        """Return None, because calls are cheap on the host."""
        return None


def open_device(name: str) -> Device:
    """Open the device `name`: "cpu", "cuda" or "npu". Raise EngineError if the machine does not have it."""
    if name == "cpu":
        return CpuDevice()
    if name in ("cuda", "npu"):
        from engine.worker.torch.accelerator import AcceleratorDevice

        return AcceleratorDevice(name)
    raise EngineError(f"no device is called {name!r}; there are cpu, cuda and npu")
