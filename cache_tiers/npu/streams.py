"""What copies to and from an accelerator need of it: queues of work, points in them, and memory on both ends."""

from typing import Protocol

import torch


class Event(Protocol):
    """A point in a stream: reached when everything queued before it is done."""

    def wait(self) -> None:
        """Block the calling thread, which may be any, until it is reached."""

    def is_reached(self) -> bool:
        """Tell whether it is reached; the calling thread does not wait. Once True, as after `wait`."""

    def seconds_since(self, earlier: "Event") -> float:
        """Of the device's time between two points of one stream that have been reached."""


class Stream(Protocol):
    """Work that the device does in order. Two streams know nothing of each other but through events."""

    def copy(self, target: torch.Tensor, source: torch.Tensor) -> None:
        """Queue a copy of equal shapes and dtypes; both ends must live, and the source must not change, until an event
        behind it is reached. An end in host memory must be pinned."""

    def record(self) -> Event:
        """The point behind all that is queued now."""

    def wait_for(self, event: Event) -> None:
        """What is queued from now on begins when `event` is reached; the calling thread does not wait."""


class DeviceMemory(Protocol):
    """Memory that the host cannot address, and the ways to it."""

    def zeros(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        """A zeroed tensor on the device."""

    def compute_stream(self) -> Stream:
        """The one that the model computes in; asked for on the model's thread."""

    def new_stream(self) -> Stream:
        """Another one beside it."""

    def pinned(self, memory: memoryview) -> torch.Tensor:
        """`memory` (format 'B') as a uint8 tensor that streams can copy from and to. Keep the memory alive."""
