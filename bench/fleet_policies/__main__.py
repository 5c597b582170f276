"""`python -m bench.fleet_policies`: policies of the choice of a replica, on real and on simulated replicas.

    python -m bench.fleet_policies [--traces FOLDER] [--workloads chats agents ...] [--policies ...] [--size 1.0]

Four replicas of a small model of random weights, one thread each, answer each workload under each policy, without and
with a common Redis. There the policies are judged by the tokens that were computed, the bytes that were restored, and
the CPU seconds. Milliseconds come from the simulator (`bench.fleet_sim`), at the costs that the replicas have learned,
and at the whole length of each workload. Prints the tables of the workloads, and writes
bench/results/fleet_policies.json and fleet_policies.md. `--simulate` omits the real part.
"""

import argparse
import asyncio
import json
from dataclasses import asdict
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from msgspec import convert, structs, to_builtins

from bench.fleet_policies.outcome import Outcome
from bench.fleet_policies.policies import POLICIES
from bench.fleet_policies.real import (
    BLOCK,
    BLOCK_NBYTES,
    DEVICE_BLOCKS,
    PLACES,
    REPLICAS,
    Played,
    cpu_blocks,
    engine_config,
    play,
    small_model,
)
from bench.fleet_policies.simulated import simulate
from bench.fleet_policies.tables import tables
from bench.fleet_policies.workloads import Workload, workloads
from bench.fleet_sim.calibration import learned
from bench.fleet_sim.replica import ReplicaSize
from bench.machine import describe_machine
from bench.report import RESULTS, write_results
from engine.fleet.routing.prediction import StepLimits
from engine.fleet.wire.report import ReplicaCost

LIMITS: Final = StepLimits(places=PLACES)

TYPICAL: Final = ReplicaCost(
    step=0.004, decode=0.0008, token=0.0004, pair=2e-8, turn=0.2, copy=0.0003, load_start=0.0005, load_block=0.001
)
"""Costs of a replica with one core, until real ones have been measured."""


def main() -> None:
    """Run the workloads under the policies, and store the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", type=Path, help="folder with agent.jsonl.gz and conversation.jsonl.gz")
    parser.add_argument("--workloads", nargs="*")
    parser.add_argument("--policies", nargs="*", default=list(POLICIES), choices=list(POLICIES))
    parser.add_argument("--size", type=float, default=1.0, help="length of the workloads on real replicas")
    parser.add_argument("--simulate", action="store_true", help="only simulate")
    parser.add_argument("--cache-dir", type=Path, default=Path.home() / ".cache/ebb")
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    path = arguments.out / "fleet_policies.json"
    results: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    known, whole = workloads(arguments.traces, arguments.size), workloads(arguments.traces, 1.0)
    chosen = arguments.workloads or list(known)
    for name in chosen:
        if not arguments.simulate:
            results.setdefault("real", {})[name] = _real(known[name](), arguments)
            results.setdefault("sizes", {})[name] = arguments.size
            results |= {"measured_on": date.today().isoformat(), "machine": asdict(describe_machine())}
            results["cost"] = to_builtins(link_or_typical(results["real"][name].pop("costs")))
        results.setdefault("simulated", {})[name] = _simulated(whole[name](), arguments, results.get("cost"))
        write_results(arguments.out, "fleet_policies", results, tables(results))
    print(tables(results, chosen))


def _real(workload: Workload, arguments: argparse.Namespace) -> dict[str, Any]:
    found: dict[str, Any] = {"costs": []}
    with small_model(arguments.cache_dir) as model:
        for redis in (False, True):
            for policy in arguments.policies:
                played = _played(workload, policy, model, arguments, redis=redis)
                found["costs"].append(learned(played.reports))
                found.setdefault(_memory(redis=redis), {})[policy] = asdict(played.outcome)
                print(workload.name, _memory(redis=redis), policy, played.outcome, flush=True)
    return found


def _played(workload: Workload, policy: str, model: Path, arguments: argparse.Namespace, *, redis: bool) -> Played:
    with TemporaryDirectory(prefix="ebb-fleet-state-") as folder:
        config = engine_config(model, Path(folder), arguments.cache_dir, workload, redis=redis)
        return asyncio.run(play(workload, config, POLICIES[policy](BLOCK, LIMITS, None)))


def link_or_typical(costs: list[ReplicaCost]) -> ReplicaCost:
    """Return the costs under the last policy with Redis. A link that nothing was loaded from has the typical speed."""
    last = costs[-1]
    if last.load_block:
        return last
    return structs.replace(last, load_start=TYPICAL.load_start, load_block=TYPICAL.load_block)


def _simulated(workload: Workload, arguments: argparse.Namespace, measured: dict[str, Any] | None) -> dict[str, Any]:
    cost = convert(measured, ReplicaCost) if measured is not None else TYPICAL
    size = ReplicaSize(DEVICE_BLOCKS, cpu_blocks(workload) // REPLICAS, BLOCK, LIMITS)
    found: dict[str, dict[str, Any]] = {}
    for redis in (False, True):
        for policy in arguments.policies:
            outcome: Outcome = simulate(
                workload, policy, cost, size, replicas=REPLICAS, block_nbytes=BLOCK_NBYTES, redis=redis
            )
            found.setdefault(_memory(redis=redis), {})[policy] = asdict(outcome)
    return found


def _memory(*, redis: bool) -> str:
    return "with Redis" if redis else "without Redis"


if __name__ == "__main__":
    main()
