"""The figures of one run, the targets that they are compared with, and their form as JSON and Markdown."""

from collections.abc import Mapping
from dataclasses import dataclass

from bench.machine import Machine
from bench.neighbour.plan import NeighbourPlan
from bench.neighbour.victim import Samples
from bench.report import Target
from bench.report_tables import table, targets_table
from bench.stats import Spread, spread

MAX_RATIO = 1.5
MAX_LOST_POINTS = 5.0


@dataclass(frozen=True, slots=True)
class Side:
    """The measured tenant alongside one kind of neighbour. Times are in milliseconds."""

    ttft: Spread
    itl: Spread
    cached: float
    """Share of the prompts of returning turns that came from a tier, 0 to 1."""
    errors: int
    neighbour_tokens: int
    """Tokens that the neighbour got in all windows."""
    victim_tokens: int
    outcomes: Mapping[str, int]
    """Number of the neighbour's requests, by outcome."""


@dataclass(frozen=True, slots=True)
class NeighbourReport:
    """Results of one run."""

    measured_on: str
    machine: Machine
    plan: NeighbourPlan
    hostile: Side
    well_behaved: Side
    errors: tuple[str, ...]
    bad_lines: tuple[str, ...]
    """Lines of the server's log that report a fault of the server."""


def side(samples: Samples, neighbour_tokens: int, victim_tokens: int, outcomes: Mapping[str, int]) -> Side:
    """Summarize the samples of one kind of window. Raise ValueError if there are none."""
    return Side(
        ttft=spread([each * 1e3 for each in samples.ttft]),
        itl=spread([each * 1e3 for each in samples.gaps]),
        cached=samples.cached / max(samples.prompt, 1),
        errors=len(samples.errors),
        neighbour_tokens=neighbour_tokens,
        victim_tokens=victim_tokens,
        outcomes=dict(sorted(outcomes.items())),
    )


def targets(report: NeighbourReport) -> list[Target]:
    """List the claims and whether this run meets them."""
    hostile, calm = report.hostile, report.well_behaved
    lost = (calm.cached - hostile.cached) * 100
    return [
        Target("p99 TTFT, hostile over well-behaved neighbour", hostile.ttft.p99 / calm.ttft.p99, MAX_RATIO, False),
        Target("p99 ITL, hostile over well-behaved neighbour", hostile.itl.p99 / calm.itl.p99, MAX_RATIO, False),
        Target("points of prefix hits lost", lost, MAX_LOST_POINTS, False),
        Target("errors that the measured tenant received", hostile.errors, 0, False),
        Target("faults in the server's log", len(report.bad_lines), 0, False),
    ]


def passed(report: NeighbourReport) -> bool:
    """Return whether all targets are met."""
    return all(target.met for target in targets(report))


def to_markdown(report: NeighbourReport) -> str:
    """Format the report for people."""
    machine = report.machine
    head = (
        "# A tenant alongside a hostile neighbour\n\n"
        f"Measured on {report.measured_on}: {machine.cpu}, {machine.cores} cores. "
        f"{report.plan.windows} hostile windows of {report.plan.seconds_of('hostile'):g} s and as many windows of "
        f"{report.plan.seconds_of('well-behaved'):g} s with a well-behaved neighbour, in turn, on one server."
    )
    columns = (
        "neighbour",
        "turns",
        "TTFT p50, ms",
        "p99",
        "ITL p50, ms",
        "p99",
        "from a tier",
        "errors",
        "tokens",
        "neighbour's tokens",
    )
    rows = [_row("well-behaved", report.well_behaved), _row("hostile", report.hostile)]
    did = table(("request", "times"), [(name, str(count)) for name, count in report.hostile.outcomes.items()])
    parts = [head, table(columns, rows), targets_table(targets(report)), "## Requests of the hostile neighbour", did]
    if report.errors or report.bad_lines:
        parts += ["## Errors", "\n".join(f"- {line}" for line in (*report.errors[:20], *report.bad_lines[:20]))]
    return "\n\n".join(parts) + "\n"


def _row(name: str, one: Side) -> tuple[str, ...]:
    return (
        name,
        str(one.ttft.count),
        f"{one.ttft.median:.0f}",
        f"{one.ttft.p99:.0f}",
        f"{one.itl.median:.0f}",
        f"{one.itl.p99:.0f}",
        f"{one.cached:.1%}",
        str(one.errors),
        str(one.victim_tokens),
        str(one.neighbour_tokens),
    )
