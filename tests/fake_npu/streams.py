"""Lazy streams: a copy runs only when the code under test waits for it, and code that forgets to wait reads poison.

The model's stream is the exception: results of the fake operators are available immediately, but count as queued.
"""

from dataclasses import dataclass
from threading import RLock

import torch

from cache_tiers.npu.streams import StreamMark
from tests.fake_npu.device_tensor import DeviceTensor, plain
from tests.fake_npu.faults import UnpinnedMemoryError, UseAfterFreeError
from tests.fake_npu.spans import Spans, spans_of
from tests.fake_npu.timeline import HOST, Clock, Timeline


class HostMemory:
    """Pinned and freed spans of host memory."""

    def __init__(self) -> None:
        self._pinned: list[Spans] = []
        self._freed: list[Spans] = []

    def pin(self, tensor: torch.Tensor) -> None:
        self._pinned.append(spans_of(tensor))

    def free(self, tensor: torch.Tensor) -> None:
        spans = spans_of(tensor)
        self._pinned = [each for each in self._pinned if not each.overlap(spans)]
        self._freed.append(spans)

    def require_reachable(self, tensor: torch.Tensor) -> None:
        if isinstance(tensor, DeviceTensor):
            return
        spans = spans_of(tensor)
        if not any(each.first <= spans.first and spans.end <= each.end for each in self._pinned):
            raise UnpinnedMemoryError("a stream received host memory that is not pinned")

    def require_alive(self, tensor: torch.Tensor) -> None:
        if any(each.overlap(spans_of(plain(tensor))) for each in self._freed):
            raise UseAfterFreeError("a copy used memory that had been freed")


@dataclass(frozen=True)
class _Copy:
    target: torch.Tensor
    source: torch.Tensor


class FakeStream:
    """Stream of the fake device.

    eager: run copies immediately, as the model's stream does.
    """

    def __init__(self, name: str, timeline: Timeline, host: HostMemory, lock: RLock, *, eager: bool = False) -> None:
        self.name = name
        self._timeline = timeline
        self._host = host
        self._lock = lock
        self._eager = eager
        self._queue: list[_Copy | FakeEvent] = []
        self.done = 0
        """Number of operations that have run since the stream was created."""

    def copy(self, target: torch.Tensor, source: torch.Tensor) -> None:
        with self._lock:
            for end in (target, source):
                self._host.require_reachable(end)
            copy = _Copy(plain(target), plain(source))
            assert copy.target.shape == copy.source.shape
            assert copy.target.dtype is copy.source.dtype
            self._timeline.operate(self.name, [spans_of(copy.source)], [spans_of(copy.target)])
            if self._eager:
                self._carry_out(copy)
                return
            self._queue.append(copy)
            if not any(isinstance(other, _Copy) and _reads(other, copy.target) for other in self._queue):
                poison(copy.target)

    def record(self) -> StreamMark:
        with self._lock:
            return FakeEvent(self, self.done + len(self._queue), self._timeline.now(self.name))

    def wait_for(self, event: StreamMark) -> None:
        assert isinstance(event, FakeEvent)
        with self._lock:
            self._timeline.wait(self.name, event.clock)
            if self._eager:
                event.stream.run_until(event.position)
            else:
                self._queue.append(event)

    def run_until(self, position: int) -> None:
        """Run the operations that are queued before `position`, and those that they wait for."""
        while self.done < position:
            step = self._queue.pop(0)
            self.done += 1
            if isinstance(step, FakeEvent):
                step.stream.run_until(step.position)
            else:
                self._carry_out(step)

    def _carry_out(self, copy: _Copy) -> None:
        for end in (copy.target, copy.source):
            self._host.require_alive(end)
        copy.target.copy_(copy.source)


class FakeEvent:
    """Event of the fake device."""

    def __init__(self, stream: FakeStream, position: int, clock: Clock) -> None:
        self.stream = stream
        self.position = position
        self.clock = clock

    def wait(self) -> None:
        with self.stream._lock:
            self.stream.run_until(self.position)
            self.stream._timeline.wait(HOST, self.clock)

    def is_reached(self) -> bool:
        """Run one more operation and return whether the event is reached. Without progress, polling would never end."""
        with self.stream._lock:
            self.stream.run_until(min(self.position, self.stream.done + 1))
            if self.stream.done < self.position:
                return False
            self.stream._timeline.wait(HOST, self.clock)
            return True

    def seconds_since(self, earlier: StreamMark) -> float:
        assert isinstance(earlier, FakeEvent)
        assert self.stream is earlier.stream, "there is no elapsed time between events of two streams"
        assert self.stream.done >= self.position, "the elapsed time was read before the event was reached"
        return 1e-6 * (self.position - earlier.position)


def _reads(copy: _Copy, tensor: torch.Tensor) -> bool:
    return spans_of(copy.source).overlap(spans_of(tensor))


def poison(tensor: torch.Tensor) -> None:
    """Fill the target of a pending copy with bits that are NaN in every floating point format."""
    tensor.view({1: torch.int8, 2: torch.int16, 4: torch.int32}[tensor.itemsize]).fill_(-1)
