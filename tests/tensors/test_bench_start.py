"""Evaluation of measurements in bench/start.py."""

from dataclasses import replace

import pytest

from bench.start import MB, Memory, Start, meets_targets, report

FAST = Start(page=0.4, health=0.4, ready=2.5, cpu=3.1, rss=800 * MB, pools=60 * MB)
MEMORY = Memory(rss=800 * MB, weights=300 * MB, pools=60 * MB, imports=350 * MB)


def test_memory_bound_is_sum_of_parts() -> None:
    assert MEMORY.bound == (345 + 60 + 350 + 150) * MB


@pytest.mark.parametrize(
    ("starts", "memory", "good"),
    [
        ([FAST] * 3, MEMORY, True),
        # A single start that other load slowed down does not count.
        ([FAST, FAST, replace(FAST, ready=30.0)], MEMORY, True),
        ([FAST, replace(FAST, ready=4.1), replace(FAST, ready=4.2)], MEMORY, False),
        ([replace(FAST, page=1.6)], MEMORY, False),
        ([FAST], replace(MEMORY, rss=910 * MB), False),
    ],
)
def test_median_or_memory_above_target_fails(starts: list[Start], memory: Memory, good: bool) -> None:
    assert meets_targets(starts, memory) is good


def test_table_lists_times_with_targets_and_memory_parts() -> None:
    text = "\n".join(report([FAST, replace(FAST, ready=3.5)], MEMORY))
    assert "ready      3.00 s   2.50 s   3.50 s   4 s" in text
    assert "memory   800 MB of at most 905 MB: weights 300 x 1.15, pools 60, imports 350, 150" in text
