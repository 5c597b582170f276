"""Named scratch buffers that only grow, because reused memory costs no page faults."""

import math

import torch


class Scratch:
    """Buffers of one dtype on one device, for one owner on one thread.

    The next `get` of a name reuses the memory of the previous one.
    """

    def __init__(self, dtype: torch.dtype, device: torch.device) -> None:
        self._dtype = dtype
        self._device = device
        self._buffers: dict[str, torch.Tensor] = {}

    def get(self, name: str, shape: tuple[int, ...]) -> torch.Tensor:
        """Return a contiguous tensor of `shape` with undefined contents."""
        size = math.prod(shape)
        buffer = self._buffers.get(name)
        if buffer is None or buffer.numel() < size:
            # 50% headroom: a context that grows block by block must not reallocate every time.
            buffer = torch.empty(size + size // 2, dtype=self._dtype, device=self._device)
            self._buffers[name] = buffer
        return buffer[:size].view(shape)
