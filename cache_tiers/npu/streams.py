"""Interface of an accelerator to block copies: queues of work, points in them, and memory on both ends."""

from typing import Protocol

import torch


class StreamMark(Protocol):
    """A point in a stream, reached once everything queued before it is done."""

    def wait(self) -> None:
        """Block the calling thread, which may be any, until the event is reached."""

    def is_reached(self) -> bool:
        """Return True if the event is reached, without blocking. True has the same guarantees as a return of `wait`."""

    def seconds_since(self, earlier: "StreamMark") -> float:
        """Return the seconds on the device's clock since `earlier`. Both events must be reached and of one stream."""


class Stream(Protocol):
    """A queue of work that the device executes in order. Only events order the work of two streams."""

    def copy(self, target: torch.Tensor, source: torch.Tensor) -> None:
        """Queue a copy between tensors of equal shape and dtype. An end in host memory must be pinned.

        Both ends must live, and the source must not change, until an event recorded after the copy is reached.
        """

    def record(self) -> StreamMark:
        """Record an event after all work queued so far."""

    def wait_for(self, event: StreamMark) -> None:
        """Make work queued from now on wait for `event`, without blocking the calling thread."""


class DeviceMemory(Protocol):
    """Memory that the host cannot address, and the streams that reach it."""

    def zeros(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        """Allocate a zeroed tensor on the device."""

    def compute_stream(self) -> Stream:
        """Return the stream that the model computes in. Call this on the model's thread."""

    def new_stream(self) -> Stream:
        """Create another stream, concurrent with the model's."""

    def pinned(self, memory: memoryview) -> torch.Tensor:
        """Pin `memory` (format 'B') and return it as a uint8 tensor for copies. The caller keeps the memory alive."""
