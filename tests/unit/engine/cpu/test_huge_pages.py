"""Memory that begins with a huge page."""

from cache_tiers.cpu.growing_memory import HUGE_PAGE
from engine.cpu.huge_pages import huge_memory


def test_huge_memory_begins_with_a_huge_page_and_is_writable() -> None:
    memory = huge_memory(HUGE_PAGE + 100)
    assert memory.data_ptr() % HUGE_PAGE == 0
    assert memory.shape == (HUGE_PAGE + 100,)
    memory.fill_(7)
    assert int(memory[-1]) == 7
