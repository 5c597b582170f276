"""Division of a cluster's CPUs, and the addresses that are refused. No test needs Ray."""

import pytest

from engine.errors import EngineError
from engine.fleet.ray_cluster import check_private, connect, cpus_per_replica


@pytest.mark.parametrize(
    ("machines", "count", "share"),
    [
        ([4, 4, 4], 3, 4),
        ([4, 4, 4], 2, 4),
        ([4, 4, 4], 4, 2),
        ([8, 4], 3, 4),
        ([8, 2], 3, 2),
        ([1, 1], 2, 1),
        ([16], 3, 5),
    ],
)
def test_replicas_get_the_most_cpus_that_fit(machines: list[int], count: int, share: int) -> None:
    assert cpus_per_replica(machines, count) == share
    assert sum(cpus // share for cpus in machines) >= count


def test_fewer_cpus_than_replicas_are_refused() -> None:
    with pytest.raises(EngineError, match="--replicas 4: the Ray cluster has 3 CPUs on 2 machines"):
        cpus_per_replica([2, 1], 4)


@pytest.mark.parametrize("host", ["127.0.0.1", "10.0.0.1", "fd00::1", "head.example"])
def test_private_addresses_and_names_are_accepted(host: str) -> None:
    check_private(host)


def test_public_address_is_refused() -> None:
    with pytest.raises(EngineError, match=r"8\.8\.8\.8 is a public address"):
        connect("8.8.8.8:6379")
