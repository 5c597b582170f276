"""The cuda and npu devices, on torch.accelerator as far as it covers both. Only the graphs are device-specific."""

import logging
from collections.abc import Callable, Sequence
from typing import Any

import torch

from cache_tiers.npu.streams import DeviceMemory, Stream, StreamMark
from engine.api.errors import EngineError
from engine.worker.torch.device import Graph
from models.layers.cuda import cuda_layers
from models.layers.kinds import LayerKinds
from models.layers.npu import npu_layers

logger = logging.getLogger(__name__)


class AcceleratorDevice:
    """A device with its own memory and streams.

    The constructor raises EngineError if the machine has no such device.
    """

    memory: DeviceMemory | None

    def __init__(self, name: str) -> None:
        found = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
        if found is None or found.type != name:
            raise EngineError(f"this machine has no usable {name} device (found: {found or 'none'})")
        self.name = name
        self.torch_device = torch.device(name, torch.accelerator.current_device_index())
        self.memory = TorchMemory(self.torch_device)
        self._graph_pool: Any = None

    def prepare(self) -> None:
        """Limit torch to one host thread, because the host only feeds the device."""
        torch.set_num_threads(1)

    def synchronize(self) -> None:
        """Wait for the model's stream. Copies on other streams are awaited through their events."""
        torch.accelerator.current_stream(self.torch_device).synchronize()

    def start_read(self, values: torch.Tensor) -> Callable[[], torch.Tensor]:
        """See Device. The host's memory is pinned, so that the copy does not wait here."""
        known = torch.empty(values.shape, dtype=values.dtype, pin_memory=True)
        known.copy_(values, non_blocking=True)
        copied = TorchStream(torch.accelerator.current_stream(self.torch_device)).record()

        def read() -> torch.Tensor:
            copied.wait()
            return known

        return read

    def available_memory(self) -> int:
        """Return the free memory in bytes, as the driver reports it."""
        free, _total = torch.accelerator.get_memory_info(self.torch_device)
        return int(free)

    def memory_bandwidth(self) -> int | None:
        """See Device. Only CUDA states the clock of the memory, in kHz, and the width of its bus, in bits."""
        if self.name != "cuda":
            return None
        properties = torch.cuda.get_device_properties(self.torch_device)
        # Builds of torch and drivers may lack one of the two. The memory delivers two words in each cycle.
        clock, width = (int(getattr(properties, name, 0)) for name in ("memory_clock_rate", "memory_bus_width"))
        return 2 * 1000 * clock * width // 8 or None

    def instruction_set(self) -> str:
        """Return an identifier with the exact model of the device, because libraries choose kernels by model."""
        module = getattr(torch, self.name)
        return f"{self.name}-{module.get_device_name(self.torch_device)}".replace(" ", "-")

    def layers(self, *, check: bool) -> LayerKinds:
        """Return fused layers: operators on an npu, Triton's kernels on a GPU."""
        return npu_layers(check=check) if self.name == "npu" else cuda_layers()

    def new_graph(self) -> Graph | None:
        """Create a CUDA graph, or an ACL graph on an npu."""
        if self._graph_pool is None:
            self._graph_pool = getattr(torch, self.name).graph_pool_handle()
        return NpuGraph(self._graph_pool) if self.name == "npu" else CudaGraph(self._graph_pool)


class TorchMemory:
    """DeviceMemory on torch.accelerator."""

    def __init__(self, device: torch.device) -> None:
        self._device = device

    def zeros(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        """See DeviceMemory."""
        return torch.zeros(shape, dtype=dtype, device=self._device)

    def compute_stream(self) -> Stream:
        """See DeviceMemory."""
        return TorchStream(torch.accelerator.current_stream(self._device))

    def new_stream(self) -> Stream:
        """See DeviceMemory."""
        return TorchStream(torch.Stream(self._device))

    def pinned(self, memory: memoryview) -> torch.Tensor:
        """See DeviceMemory. Unpinned memory still works, but copies are synchronous."""
        tensor = torch.frombuffer(memory, dtype=torch.uint8)
        if not tensor.is_pinned():
            logger.warning("the CPU tier's memory is not pinned: copies to and from the device will be slow")
        return tensor


class TorchStream:
    """Stream on torch.Stream."""

    def __init__(self, stream: torch.Stream) -> None:
        self._stream = stream

    def copy(self, target: torch.Tensor, source: torch.Tensor) -> None:
        """See Stream."""
        with self._stream:
            target.copy_(source, non_blocking=True)

    def record(self) -> StreamMark:
        """See Stream."""
        event = torch.Event(self._stream.device, enable_timing=True)
        event.record(self._stream)
        return TorchEvent(event)

    def wait_for(self, event: StreamMark) -> None:
        """See Stream."""
        assert isinstance(event, TorchEvent)
        self._stream.wait_event(event.event)


class TorchEvent:
    """Event on torch.Event."""

    def __init__(self, event: torch.Event) -> None:
        self.event = event

    def wait(self) -> None:
        """See Event."""
        self.event.synchronize()

    def is_reached(self) -> bool:
        """See Event."""
        return bool(self.event.query())

    def seconds_since(self, earlier: StreamMark) -> float:
        """See Event."""
        assert isinstance(earlier, TorchEvent)
        return float(earlier.event.elapsed_time(self.event)) / 1e3


class CudaGraph:
    """A CUDA graph. All of its inputs, including lengths, are in device memory, so a replay takes no arguments."""

    def __init__(self, pool: Any) -> None:
        """Create an empty graph.

        pool: memory pool that graphs share. The results of one graph are no longer needed when another is replayed.
        """
        self._graph = torch.cuda.CUDAGraph()
        self._pool = pool

    def capture(self, compute: Callable[[], torch.Tensor]) -> torch.Tensor:
        """See Graph."""
        # Warm up without capturing: kernels are compiled, and libraries allocate their persistent memory.
        compute()
        torch.accelerator.synchronize()
        # Threads that pin or copy memory during the capture must not make it fail.
        with torch.cuda.graph(self._graph, pool=self._pool, capture_error_mode="thread_local"):
            return compute()

    def replay(self, seq_lens: Sequence[int]) -> None:  # noqa: ARG002
        """See Graph."""
        self._graph.replay()


class NpuGraph:
    """An ACL graph.

    During a capture torch_npu registers every operator that takes lengths on the host. Before a replay it updates these
    lengths in place. Apart from them, only the contents of tensors can change between replays.
    """

    def __init__(self, pool: Any) -> None:
        """Create an empty graph.

        pool: memory pool that graphs share. The results of one graph are no longer needed when another is replayed.
        """
        self._graph = torch.npu.NPUGraph()  # type: ignore[attr-defined]
        self._pool = pool
        self._replayed: StreamMark | None = None

    def capture(self, compute: Callable[[], torch.Tensor]) -> torch.Tensor:
        """See Graph."""
        # Warm up without capturing: operators choose their plans and allocate their persistent memory.
        compute()
        torch.accelerator.synchronize()
        with torch.npu.graph(self._graph, pool=self._pool, auto_dispatch_capture=True):  # type: ignore[attr-defined]
            return compute()

    def replay(self, seq_lens: Sequence[int]) -> None:
        """See Graph. Wait for the previous replay first, because it reads the lengths that are updated here."""
        if self._replayed is not None:
            self._replayed.wait()
        self._graph.update(cpu_update_input=[{"actual_seq_lengths_kv": list(seq_lens)}])
        self._graph.replay()
        self._replayed = TorchStream(torch.accelerator.current_stream()).record()
