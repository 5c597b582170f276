"""Processes on machines with accelerators, which Ray only believes to exist: each sees separate devices.

Ray is imported in the functions, since it reads its variables then, and the cluster sets them.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from engine.api.errors import EngineError
from engine.config import EngineConfig
from engine.executor.device_shares import VARIABLES
from engine.executor.ray_stage import StageSize, actor_options
from tests.integration.engine.fleet.answers import SECONDS
from tests.ray.ahead import Ahead

pytestmark = pytest.mark.asyncio(loop_scope="session")


class Looker:
    """Actor that tells which devices its process sees."""

    def devices(self, kind: str) -> str | None:
        """Return the value of the driver's variable; None if nothing restricts the process."""
        return os.environ.get(VARIABLES[kind])


@pytest.fixture(params=["cuda", "npu"])
def kind(request: pytest.FixtureRequest) -> str:
    kind: str = request.param
    return kind


@pytest_asyncio.fixture(loop_scope="session")
async def group(ahead: Ahead, kind: str) -> AsyncIterator[Any]:
    """Reserve a stage of two ranks on one machine, which the first replicas leave free."""
    from ray.util import placement_group, remove_placement_group

    group = placement_group([StageSize(2, 2, kind).bundle], strategy="PACK")
    async with asyncio.timeout(SECONDS):
        await group.ready()
    yield group
    remove_placement_group(group)


async def test_ranks_of_a_stage_see_a_device_each(group: Any, kind: str) -> None:
    import ray
    from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

    options = actor_options({name: amount / 2 for name, amount in group.bundle_specs[0].items()})
    place = PlacementGroupSchedulingStrategy(group, 0)
    ranks = [ray.remote(Looker).options(scheduling_strategy=place, **options).remote() for _ in range(2)]
    async with asyncio.timeout(SECONDS):
        assert sorted([await rank.devices.remote(kind) for rank in ranks]) == ["0", "1"]


async def test_replicas_need_a_device_each(connected: None, config: EngineConfig, kind: str) -> None:
    from engine.fleet.placement.ray_placement import RayPlacement

    RayPlacement(6, config.with_fields(kind=kind))
    RayPlacement(3, config.with_fields(kind=kind, tensor_parallel_size=2))
    with pytest.raises(EngineError, match=r"6 CPUs and 6 [GN]PUs on 3 machines, and every replica needs 1 CPU and 2 "):
        RayPlacement(4, config.with_fields(kind=kind, tensor_parallel_size=2))
