"""Workloads on simulated replicas, under the same policies."""

from typing import Final

from app.observability.percentiles import percentile
from bench.fleet_policies.named import all_named, reusable_tokens
from bench.fleet_policies.outcome import Outcome
from bench.fleet_policies.policies import POLICIES
from bench.fleet_policies.workloads import Workload
from bench.fleet_sim.agenda import Agenda
from bench.fleet_sim.replica import ReplicaSize
from bench.fleet_sim.world import World, WorldShape
from engine.fleet.routing.router import Router
from engine.fleet.wire.report import ReplicaCost

ENDLESS: Final = 1 << 40


def simulate(
    workload: Workload,
    policy: str,
    cost: ReplicaCost,
    size: ReplicaSize,
    *,
    replicas: int,
    block_nbytes: int,
    redis: bool,
) -> Outcome:
    """Play a workload on simulated replicas with one gateway."""

    def make(agenda: Agenda) -> Router:
        return POLICIES[policy](size.block, size.limits, lambda: agenda.now)

    shape = WorldShape(replicas, 1, cost, size, shared_blocks=ENDLESS if redis else None)
    observed = World(shape, make).play(all_named(workload.sessions))
    totals, waits = observed.totals, list(observed.first_token)
    return Outcome(
        totals.computed,
        totals.loaded,
        totals.loaded // size.block * block_nbytes,
        totals.prompt_tokens,
        reusable_tokens(workload.sessions),
        totals.busy_seconds,
        sum(waits) / len(waits),
        percentile(waits, 99),
        tuple(observed.counts),
    )
