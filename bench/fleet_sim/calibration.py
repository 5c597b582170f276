"""The simulator against four real replicas: the same sessions, at the costs that the replicas have learned.

Real time: run it on a quiet machine.
"""

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np
from msgspec import structs

from bench.fleet_policies.named import all_named
from bench.fleet_policies.real import BLOCK, DEVICE_BLOCKS, PLACES, REPLICAS, engine_config, play, small_model
from bench.fleet_policies.workloads import Workload, chats
from bench.fleet_sim.replica import ReplicaSize
from bench.fleet_sim.world import World, WorldShape
from engine.fleet.routing.prediction import StepLimits
from engine.fleet.routing.router import PredictingRouter
from engine.fleet.wire.report import ReplicaCost, Report

LIMITS: Final = StepLimits(places=PLACES)
CPU_BLOCKS: Final = 2_000


@dataclass(frozen=True, slots=True)
class Calibration:
    """One comparison. Times are mean seconds to the first token.

    simulated: of the simulator. routed: as the router predicted for each real request. seen: of the real requests.
    cost: learned costs that the simulator used.
    """

    requests: int
    simulated: float
    routed: float
    seen: float
    cost: ReplicaCost

    @property
    def error(self) -> float:
        """Relative error of the simulator."""
        return self.simulated / self.seen - 1


def calibrate(num_chats: int, turns: int, pause: float, cache_dir: Path) -> Calibration:
    """Play chats on real replicas, and simulate them."""
    workload = Workload("calibration", chats(num_chats, turns, seed=7, pause=pause).sessions)
    with small_model(cache_dir) as model, TemporaryDirectory(prefix="ebb-fleet-state-") as folder:
        config = engine_config(model, Path(folder), cache_dir, workload, redis=False)
        played = asyncio.run(play(workload, config, PredictingRouter(BLOCK, LIMITS)))
    cost = learned(played.reports)
    size = ReplicaSize(DEVICE_BLOCKS, CPU_BLOCKS, BLOCK, LIMITS)
    world = World(
        WorldShape(REPLICAS, 1, cost, size, cores=len(os.sched_getaffinity(0))),
        lambda agenda: PredictingRouter(BLOCK, LIMITS, clock=lambda: agenda.now),
    )
    simulated = world.play(all_named(workload.sessions)).first_token
    return Calibration(
        len(played.seen),
        sum(simulated) / len(simulated),
        _mean([each.predicted or 0.0 for each in played.seen]),
        _mean([each.first_token for each in played.seen]),
        cost,
    )


def learned(reports: Sequence[Report]) -> ReplicaCost:
    """Return the median of the costs in the reports of a run."""
    costs = [structs.astuple(each.cost) for each in reports if each.cost is not None]
    *seconds, _ = np.median(costs, axis=0).tolist()
    return ReplicaCost(*seconds)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
