"""The worker's interface to a device."""

from collections.abc import Callable, Sequence
from typing import Protocol

import torch

from cache_tiers.npu.streams import DeviceMemory
from models.layers.kinds import LayerKinds


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

    def start_read(self, values: torch.Tensor) -> Callable[[], torch.Tensor]:
        """Queue a copy of `values` to the host, in order with the model's work.

        Return a function that waits for the copy, but not for work that was queued later. Any thread may call it.
        """

    def available_memory(self) -> int:
        """Return the number of bytes that could be allocated now."""

    def memory_bandwidth(self) -> int | None:
        """Return the bytes per second that the device reads from its own memory at most, as the driver states it.

        None if the driver does not state it, or the memory is the host's.
        """

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
