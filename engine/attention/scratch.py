"""Named scratch memory that only grows: what is reused costs no page faults."""

import math

import torch


class Scratch:
    """Buffers of one dtype on one device, one owner, one thread. What `get` gave is overwritten by the next user."""

    def __init__(self, dtype: torch.dtype, device: torch.device) -> None:
        self._dtype = dtype
        self._device = device
        self._buffers: dict[str, torch.Tensor] = {}

    def get(self, name: str, shape: tuple[int, ...]) -> torch.Tensor:
        """A contiguous tensor of `shape` with undefined contents."""
        size = math.prod(shape)
        buffer = self._buffers.get(name)
        if buffer is None or buffer.numel() < size:
            # Half more than asked: a context that grows block by block must not allocate anew each time.
            buffer = torch.empty(size + size // 2, dtype=self._dtype, device=self._device)
            self._buffers[name] = buffer
        return buffer[:size].view(shape)
