"""Host memory in huge pages, where the system has them.

With small pages, address translation slows each step, by an amount that depends on which pages the process got.
"""

import sys
from contextlib import suppress
from mmap import MAP_ANONYMOUS, MAP_PRIVATE, mmap
from typing import Final

import torch

if sys.platform == "linux":
    from mmap import MADV_HUGEPAGE

HUGE_PAGE: Final = 2 << 20


def huge_memory(nbytes: int) -> torch.Tensor:
    """Allocate uint8 [nbytes] that begins with a huge page. Pages become resident, huge if possible, when touched."""
    mapped = mmap(-1, nbytes + HUGE_PAGE, flags=MAP_PRIVATE | MAP_ANONYMOUS)
    _advise(mapped)
    memory = torch.frombuffer(mapped, dtype=torch.uint8)
    start = -memory.data_ptr() % HUGE_PAGE
    return memory[start : start + nbytes]


def resident_memory(nbytes: int) -> torch.Tensor:
    """Allocate uint8 [nbytes] of zeros, all of it resident.

    Small pages are replaced by huge ones in the background, at the kernel's own pace. Huge pages from the start could
    make it compact fragmented memory first, which takes longer than touching small pages.
    """
    mapped = mmap(-1, nbytes, flags=MAP_PRIVATE | MAP_ANONYMOUS)
    memory = torch.frombuffer(mapped, dtype=torch.uint8).zero_()
    _advise(mapped)
    return memory


def _advise(mapped: mmap) -> None:
    if sys.platform == "linux":
        with suppress(OSError):  # a kernel without huge pages
            mapped.madvise(MADV_HUGEPAGE)
