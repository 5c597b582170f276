"""What the worker needs of a device. This and `accelerator` are all that knows cpu, cuda and npu apart."""

from collections.abc import Callable, Sequence
from typing import Protocol

import torch

from cache_tiers.npu.streams import DeviceMemory
from engine.errors import EngineError
from engine.worker.host_resources import available_memory, usable_cores
from models.layers.kinds import TORCH_LAYERS, LayerKinds


class Graph(Protocol):
    """Work of the device that was recorded once and can be replayed: same memory, same shapes, other contents."""

    def capture(self, compute: Callable[[], torch.Tensor]) -> torch.Tensor:
        """Record what `compute` asks of the device; its result is overwritten by every replay. Once."""

    def replay(self, seq_lens: Sequence[int]) -> None:
        """Queue it again in the model's stream. seq_lens: of every attention call, instead of those captured: they are
        arguments on the host, so a replay knows nothing of new ones by itself."""


class Device(Protocol):
    """Where the model computes. `name` is what backends are selected by, `torch_device` where tensors are made."""

    name: str
    torch_device: torch.device
    memory: DeviceMemory | None
    """None where the device's memory is the host's own."""

    def prepare(self) -> None:
        """Process-wide settings of the model thread; called once, before the model is loaded."""

    def synchronize(self) -> None:
        """Return when everything that was asked of the device is done."""

    def available_memory(self) -> int:
        """Bytes that could be allocated now."""

    def instruction_set(self) -> str:
        """What the kernels may be chosen by: part of the numerics id."""

    def layers(self, *, check: bool) -> LayerKinds:
        """How a model's small layers are computed best. check: hold fused operators to their documented limits."""

    def new_graph(self) -> Graph | None:
        """None where work is not recorded. Graphs may share memory: a replay overwrites what others resulted in."""


class CpuDevice:
    """The host itself: work is done when the call returns, and all memory is the host's."""

    name = "cpu"
    memory: DeviceMemory | None = None

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

    def layers(self, *, check: bool) -> LayerKinds:  # noqa: ARG002
        """Plain torch."""
        return TORCH_LAYERS

    def new_graph(self) -> Graph | None:
        """A call costs little here."""
        return None


def open_device(name: str) -> Device:
    """name: "cpu", "cuda" or "npu"; raises EngineError if the machine does not have it."""
    if name == "cpu":
        return CpuDevice()
    if name in ("cuda", "npu"):
        from engine.worker.accelerator import AcceleratorDevice

        return AcceleratorDevice(name)
    raise EngineError(f"no device is called {name!r}; there are cpu, cuda and npu")
