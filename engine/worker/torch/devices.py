"""The devices that compute a model, by name. Only this module and `accelerator` distinguish cpu, cuda and npu."""

from collections.abc import Callable

import torch

from cache_tiers.npu.streams import DeviceMemory
from engine.api.errors import EngineError
from engine.worker.host_resources import available_memory, usable_cores
from engine.worker.torch.device import Device, Graph
from models.layers.kinds import TORCH_LAYERS, LayerKinds


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

    def start_read(self, values: torch.Tensor) -> Callable[[], torch.Tensor]:
        """Return the values themselves: they are known already."""
        return lambda: values

    def available_memory(self) -> int:
        """Return the free host memory in bytes, within the limits of the process."""
        return available_memory()

    def memory_bandwidth(self) -> int | None:
        """Return None, because the memory is the host's."""
        return None

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
    raise EngineError(f"there is no device {name!r}; choose cpu, cuda or npu")
