"""Division of a cluster's CPUs, and the addresses that are refused. No test needs Ray."""

import pytest

from engine.errors import EngineError
from engine.fleet.ray_cluster import check_private, connect, cpus_per_stage


@pytest.mark.parametrize(
    ("machines", "count", "stages", "share"),
    [
        ([4, 4, 4], 3, 1, 4),
        ([4, 4, 4], 2, 1, 4),
        ([4, 4, 4], 4, 1, 2),
        ([8, 4], 3, 1, 4),
        ([8, 2], 3, 1, 2),
        ([1, 1], 2, 1, 1),
        ([16], 3, 1, 5),
        ([4, 4], 1, 2, 4),
        ([4, 4], 1, 4, 2),
        ([4, 4, 4], 2, 2, 2),
    ],
)
def test_stages_get_the_most_cpus_that_fit(machines: list[int], count: int, stages: int, share: int) -> None:
    assert cpus_per_stage(machines, count, stages) == share
    assert sum(cpus // share for cpus in machines) >= count * stages


def test_fewer_cpus_than_replicas_are_refused() -> None:
    with pytest.raises(EngineError, match="--replicas 4: the Ray cluster has 3 CPUs on 2 machines"):
        cpus_per_stage([2, 1], 4, 1)


def test_fewer_cpus_than_stages_are_refused() -> None:
    with pytest.raises(EngineError, match="3 CPUs on 2 machines, and each of the 2 stages of every replica needs one"):
        cpus_per_stage([2, 1], 2, 2)


@pytest.mark.parametrize("host", ["127.0.0.1", "10.0.0.1", "fd00::1", "head.example"])
def test_private_addresses_and_names_are_accepted(host: str) -> None:
    check_private(host)


def test_public_address_is_refused() -> None:
    with pytest.raises(EngineError, match=r"8\.8\.8\.8 is a public address"):
        connect("8.8.8.8:6379")
