"""Division of CPUs among replicas."""

import pytest

from engine.executor.core_shares import core_shares


@pytest.mark.parametrize(
    ("cpus", "count", "shares"),
    [
        (range(8), 2, [(0, 1, 4, 5), (2, 3, 6, 7)]),
        (range(8), 3, [(0, 4), (1, 5), (2, 3, 6, 7)]),
        ([0, 4, 1], 2, [(0, 4), (1,)]),
        (range(8), 6, [(0, 4), (1, 5), (2, 6), (3, 7), (0, 4), (1, 5)]),
    ],
)
def test_replicas_get_whole_cores(cpus: range | list[int], count: int, shares: list[tuple[int, ...]]) -> None:
    # CPU n and CPU n + 4 are threads of one core.
    assert core_shares(cpus, count, lambda cpu: str(cpu % 4)) == shares
