"""The arena of host memory: growing with its use, shared with other processes, or pinned for an accelerator."""

import ctypes
import logging
from collections.abc import Callable
from dataclasses import dataclass
from mmap import mmap

import torch

from cache_tiers.cpu.growing_memory import GrowingMemory
from cache_tiers.cpu.shared_pool import SharedPool

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Arena:
    """Host memory, aligned to pages.

    view: the whole memory, writable, format 'B'.
    use: notes that the bytes below an offset are used from now on.
    close: frees what does not end with the last view.
    shared_pool: the name of the memory for other processes; None if it is private.
    """

    view: memoryview
    use: Callable[[int], None] = lambda _end: None
    close: Callable[[], None] = lambda: None
    shared_pool: SharedPool | None = None


def open_arena(nbytes: int, *, shared: bool) -> Arena:
    """Open an arena. Private memory is pinned if torch has an accelerator. Raise SharedMemoryError."""
    if shared:
        pool = SharedPool.named(nbytes)
        pool.check_room()
        return Arena(pool.create(), close=pool.remove, shared_pool=pool)
    accelerator = torch.accelerator.current_accelerator(check_available=True)
    if accelerator is not None:
        return _pinned_for_cuda(nbytes) if accelerator.type == "cuda" else _pinned_by_torch(nbytes)
    growing = GrowingMemory(nbytes)
    return Arena(growing.view, use=growing.use)


def _pinned_for_cuda(nbytes: int) -> Arena:
    """Register memory with CUDA. torch's own allocator of pinned memory would round the size up to a power of two."""
    view, runtime = memoryview(mmap(-1, nbytes)), torch.cuda.cudart()
    address = ctypes.addressof(ctypes.c_ubyte.from_buffer(view))
    if error := int(runtime.cudaHostRegister(address, nbytes, 0)):
        logger.warning("CUDA cannot pin %d MiB of memory (error %d)", nbytes >> 20, error)
        return Arena(view)
    return Arena(view, close=lambda: runtime.cudaHostUnregister(address))


def _pinned_by_torch(nbytes: int) -> Arena:
    return Arena(torch.empty(nbytes, dtype=torch.uint8, pin_memory=True).numpy().data)
