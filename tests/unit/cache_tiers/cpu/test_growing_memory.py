"""Memory that becomes resident with its use, as the kernel reports it."""

import ctypes
import sys
from mmap import PAGESIZE
from pathlib import Path

import pytest

from cache_tiers.cpu.growing_memory import AHEAD, HUGE_PAGE, GrowingMemory

NBYTES = 8 * AHEAD


def resident(memory: GrowingMemory) -> int:
    """Return the number of resident bytes, once the memory has grown as it was asked to."""
    memory.settle()
    pages = (ctypes.c_ubyte * (memory.view.nbytes // PAGESIZE))()
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.mincore(ctypes.c_void_p(memory.address), ctypes.c_size_t(memory.view.nbytes), pages) == 0
    return sum(page & 1 for page in pages) * PAGESIZE


def flags_at(address: int) -> list[str]:
    """Return the kernel's flags of the mapping at an address."""
    within = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        first, *others = line.split()
        if "-" in first and not first.endswith(":"):
            start, end = (int(each, 16) for each in first.split("-"))
            within = start <= address < end
        elif within and first == "VmFlags:":
            return others
    raise AssertionError("nothing is mapped there")


def test_memory_is_zero_writable_and_begins_with_huge_page() -> None:
    memory = GrowingMemory(HUGE_PAGE + 100)
    assert memory.address % HUGE_PAGE == 0
    assert ctypes.addressof(ctypes.c_ubyte.from_buffer(memory.view)) == memory.address
    assert memory.view.nbytes == HUGE_PAGE + 100
    assert not any(memory.view)
    memory.view[-1] = 7
    assert memory.view[-1] == 7


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows the state of a mapping")
def test_memory_stays_resident_a_stretch_ahead_of_use() -> None:
    memory = GrowingMemory(NBYTES)
    assert resident(memory) == AHEAD
    memory.use(AHEAD // 2)
    assert resident(memory) == AHEAD, "half a stretch ahead is enough"
    memory.use(2 * AHEAD)
    assert resident(memory) == 3 * AHEAD
    memory.use(AHEAD)
    assert resident(memory) == 3 * AHEAD
    memory.use(NBYTES)
    assert resident(memory) == NBYTES


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows the state of a mapping")
def test_resident_memory_may_be_huge_pages() -> None:
    memory = GrowingMemory(NBYTES)
    memory.settle()
    if Path("/sys/kernel/mm/transparent_hugepage").exists():
        assert "hg" in flags_at(memory.address)


def test_memory_outlives_its_owner_while_it_is_viewed() -> None:
    view = GrowingMemory(AHEAD).view
    view[0] = 1
    assert view[0] == 1
