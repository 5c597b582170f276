"""Results of one run of `bench.turns`, their targets, and the content of their JSON."""

from dataclasses import asdict, dataclass
from typing import Any

from bench.conversations import ConversationsResult
from bench.exactness import ExactnessResult
from bench.machine import Machine
from bench.plan import Plan
from bench.report import Target
from bench.returning import ReturningResult
from bench.step_time import StepTimeResult


@dataclass(frozen=True, slots=True)
class TurnsReport:
    """One run. A section that was not selected is None, or missing from `exactness`."""

    measured_on: str
    machine: Machine
    plan: Plan
    conversations: ConversationsResult | None
    returning: ReturningResult | None
    exactness: tuple[ExactnessResult, ...]
    step_time: StepTimeResult | None


def targets(report: TurnsReport) -> list[Target]:
    """List the targets of the sections that ran."""
    found: list[Target] = []
    if one := report.returning:
        found.append(Target("returning turn, TTFT from CPU, times lower", one.cpu_ratio, 8, at_least=True))
        found.append(Target("returning turn, TTFT from the disk after kill -9, times lower", one.disk_ratio, 10, True))
    for exact in report.exactness:
        claim = f"{exact.dtype}: answers equal from device, CPU and Redis, share"
        found.append(Target(claim, exact.equal_across_tiers, 1, at_least=True))
        if exact.dtype == "float32":
            claim = "float32: answers from Redis equal to recomputed ones, share"
            found.append(Target(claim, exact.equal_to_computed, 1, at_least=True))
    if step := report.step_time:
        found.append(Target("step time with tiers over without, median", step.median_ratio, 1.08, at_least=False))
        found.append(Target("step time with tiers over without, p99", step.p99_ratio, 1.3, at_least=False))
    return found


def content(report: TurnsReport) -> dict[str, Any]:
    """Return what the JSON has: the report and its targets."""
    held = [asdict(target) | {"met": target.met} for target in targets(report)]
    return asdict(report) | {"targets": held}
