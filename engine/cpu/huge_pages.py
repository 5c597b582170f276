"""Host memory in huge pages, where the system has them.

With small pages, address translation slows each step, by an amount that depends on which pages the process got.
"""

import sys
from contextlib import suppress
from mmap import MAP_ANONYMOUS, MAP_PRIVATE, mmap

import torch

from cache_tiers.cpu.growing_memory import HUGE_PAGE

if sys.platform == "linux":
    from mmap import MADV_HUGEPAGE


def huge_memory(nbytes: int) -> torch.Tensor:
    """Allocate uint8 [nbytes] that begins with a huge page. Pages become resident, huge if possible, when touched."""
    mapped = mmap(-1, nbytes + HUGE_PAGE, flags=MAP_PRIVATE | MAP_ANONYMOUS)
    if sys.platform == "linux":
        with suppress(OSError):  # a kernel without huge pages
            mapped.madvise(MADV_HUGEPAGE)
    memory = torch.frombuffer(mapped, dtype=torch.uint8)
    start = -memory.data_ptr() % HUGE_PAGE
    return memory[start : start + nbytes]
