"""Division of CPUs among replicas."""

import pytest

from engine.executor.core_shares import CoreShare, core_shares


@pytest.mark.parametrize(
    ("cpus", "count", "shares"),
    [
        (range(8), 2, [(0, 1, 4, 5), (2, 3, 6, 7)]),
        (range(8), 3, [(0, 4), (1, 5), (2, 3, 6, 7)]),
        ([0, 4, 1], 2, [(0, 4), (1,)]),
    ],
)
def test_replicas_get_whole_cores(cpus: range | list[int], count: int, shares: list[tuple[int, ...]]) -> None:
    # CPU n and CPU n + 4 are threads of one core.
    assert core_shares(cpus, count, lambda cpu: str(cpu % 4)) == [CoreShare(share) for share in shares]


def test_replicas_without_a_core_each_share_all() -> None:
    assert core_shares(range(8), 6, lambda cpu: str(cpu % 4)) == [CoreShare(tuple(range(8)), sharers=6)] * 6
