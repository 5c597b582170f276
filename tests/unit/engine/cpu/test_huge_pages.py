"""Memory that is or becomes huge pages."""

import sys
from pathlib import Path

import pytest
import torch

from engine.cpu.huge_pages import HUGE_PAGE, huge_memory, resident_memory

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows the state of a mapping")


def mapping_of(memory: torch.Tensor) -> dict[str, str]:
    """Return the entries of /proc/self/smaps for the mapping that holds the memory."""
    found = False
    entries: dict[str, str] = {}
    for line in Path("/proc/self/smaps").read_text().splitlines():
        first, _, rest = line.partition(" ")
        if "-" in first and not first.endswith(":"):
            start, end = (int(each, 16) for each in first.split("-"))
            if found:
                return entries
            found = start <= memory.data_ptr() < end
        elif found:
            entries[first.rstrip(":")] = rest.strip()
    return entries


def test_huge_memory_begins_with_a_huge_page_and_is_writable() -> None:
    memory = huge_memory(HUGE_PAGE + 100)
    assert memory.data_ptr() % HUGE_PAGE == 0
    assert memory.shape == (HUGE_PAGE + 100,)
    memory.fill_(7)
    assert int(memory[-1]) == 7


def test_resident_memory_is_zero() -> None:
    memory = resident_memory(1 << 20)
    assert memory.shape == (1 << 20,)
    assert not memory.any()


@linux_only
def test_resident_memory_is_resident_and_may_become_huge_pages() -> None:
    memory = resident_memory(4 * HUGE_PAGE)
    mapping = mapping_of(memory)
    assert int(mapping["Rss"].split()[0]) << 10 >= memory.nbytes
    if Path("/sys/kernel/mm/transparent_hugepage").exists():
        assert "hg" in mapping["VmFlags"].split()
