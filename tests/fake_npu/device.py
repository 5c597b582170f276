"""A fake npu for tests that computes on the CPU. Mistakes that hardware punishes only at times always fail here."""

from collections.abc import Callable, Sequence
from threading import RLock

import torch

from cache_tiers.npu.streams import DeviceMemory, Stream
from engine.worker.torch.device import Graph
from models.layers.kinds import LayerKinds
from models.layers.npu import npu_layers
from tests.fake_npu.device_tensor import DeviceTensor, HostTensor, plain
from tests.fake_npu.graph import FakeGraph
from tests.fake_npu.spans import spans_of
from tests.fake_npu.streams import FakeStream, HostMemory
from tests.fake_npu.timeline import Timeline

COMPUTE = "the model's stream"


class FakeMemory:
    """DeviceMemory of the fake device."""

    def __init__(self) -> None:
        self.timeline = Timeline()
        self.host = HostMemory()
        self.lock = RLock()
        self._compute = FakeStream(COMPUTE, self.timeline, self.host, self.lock, eager=True)
        self._streams = 0

    def zeros(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        return torch.zeros(shape, dtype=dtype).as_subclass(DeviceTensor)

    def compute_stream(self) -> Stream:
        return self._compute

    def new_stream(self) -> Stream:
        self._streams += 1
        return FakeStream(f"stream {self._streams}", self.timeline, self.host, self.lock)

    def pinned(self, memory: memoryview) -> torch.Tensor:
        """Pin `memory`. On a real NPU host, the owner of the CPU tier pins it."""
        tensor = torch.frombuffer(memory, dtype=torch.uint8)
        self.host.pin(tensor)
        return tensor.as_subclass(HostTensor)

    def computed(self, reads: Sequence[torch.Tensor], writes: Sequence[torch.Tensor]) -> None:
        """Record an operator of the model that read and wrote these tensors."""
        with self.lock:
            sides = [[spans_of(plain(each)) for each in side if each.numel()] for side in (reads, writes)]
            self.timeline.operate(COMPUTE, *sides)


class FakeNpu:
    """A fake Device with the name npu.

    reads: number of elements of each copy to the host that the model's thread queued.
    """

    name = "npu"

    def __init__(self) -> None:
        self.torch_device = torch.device("cpu")
        self.fake = FakeMemory()
        self.memory: DeviceMemory | None = self.fake
        self.graphs: list[FakeGraph] = []
        self.reads: list[int] = []

    def prepare(self) -> None:
        torch.set_num_threads(1)

    def synchronize(self) -> None:
        self.fake.compute_stream().record().wait()

    def start_read(self, values: torch.Tensor) -> Callable[[], torch.Tensor]:
        self.reads.append(values.numel())
        known, computed = values.clone(), self.fake.compute_stream().record()

        def read() -> torch.Tensor:
            computed.wait()
            return known

        return read

    def available_memory(self) -> int:
        return 1 << 30

    def memory_bandwidth(self) -> int | None:
        return None

    def instruction_set(self) -> str:
        return "fake"

    def layers(self, *, check: bool) -> LayerKinds:
        return npu_layers(check=check)

    def new_graph(self) -> Graph | None:
        self.graphs.append(FakeGraph())
        return self.graphs[-1]
