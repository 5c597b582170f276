"""Processes on machines with accelerators, which Ray only believes to exist: each sees devices of its own.

Ray is imported in the functions, since it reads its variables then, and the cluster sets them.
"""

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from engine.config import EngineConfig
from engine.errors import EngineError
from engine.executor.device_shares import VARIABLES
from engine.executor.ray_stage import StageSize, actor_options
from engine.fleet.ray_cluster import connect, disconnect
from tests.ray.cluster import RayCluster


class Looker:
    """Actor that tells which devices its process sees."""

    def devices(self, kind: str) -> str | None:
        """Return the value of the driver's variable; None if nothing restricts the process."""
        return os.environ.get(VARIABLES[kind])


@pytest.fixture(scope="module")
def connected(cluster: RayCluster) -> Iterator[None]:
    connect(cluster.address)
    yield
    disconnect()


@pytest.fixture(params=["cuda", "npu"])
def kind(request: pytest.FixtureRequest) -> str:
    kind: str = request.param
    return kind


@pytest.fixture
def group(connected: None, kind: str) -> Iterator[Any]:
    """Reserve a stage of two ranks on one machine."""
    import ray
    from ray.util import placement_group, remove_placement_group

    group = placement_group([StageSize(2, 2, kind).bundle], strategy="PACK")
    ray.get(group.ready(), timeout=60)
    yield group
    remove_placement_group(group)


def test_ranks_of_a_stage_see_a_device_each(group: Any, kind: str) -> None:
    import ray
    from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

    options = actor_options({name: amount / 2 for name, amount in group.bundle_specs[0].items()})
    place = PlacementGroupSchedulingStrategy(group, 0)
    ranks = [ray.remote(Looker).options(scheduling_strategy=place, **options).remote() for _ in range(2)]
    assert sorted(ray.get([rank.devices.remote(kind) for rank in ranks], timeout=60)) == ["0", "1"]


def test_replicas_need_a_device_each(connected: None, config: EngineConfig, kind: str) -> None:
    from engine.fleet.ray_placement import RayPlacement

    RayPlacement(6, replace(config, device=kind))
    RayPlacement(3, replace(config, device=kind, tensor_parallel_size=2))
    with pytest.raises(EngineError, match=r"6 CPUs and 6 [GN]PUs on 3 machines, and every replica needs 1 CPU and 2 "):
        RayPlacement(4, replace(config, device=kind, tensor_parallel_size=2))
