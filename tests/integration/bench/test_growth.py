"""The measurement of a server's memory over many requests, in small."""

from pathlib import Path

from bench.growth import MOST, Growth, measure, table, target
from tests.sizes import TOOL, Size

MOST_IN_SMALL = 1.03
"""Largest growth while caches are still being filled."""


@TOOL
async def test_memory_levels_off_over_turns_and_requests(tmp_path: Path, size: Size) -> None:
    first, count = size.pick(small=(1_500, 3_000), full=(5_000, 30_000))
    for growth in await measure(tmp_path, first, count, print):
        assert growth.late / growth.early <= size.pick(small=MOST_IN_SMALL, full=MOST), growth.kind


def test_growth_above_its_bound_is_a_missed_target() -> None:
    targets = [target(Growth("turns of chats", 1_000, late)) for late in (1_010, 1_011)]
    assert [each.met for each in targets] == [True, False]
    assert "| turns of chats | 1.0110 | 1.01 |" in table(targets, 5, 30)
