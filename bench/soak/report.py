"""Result of a soak, its targets, and its form as JSON and Markdown."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from bench.machine import Machine
from bench.report import Target
from bench.report_tables import table, targets_table
from bench.soak.disk import DiskSample, DiskSummary
from bench.soak.observed import Counts, MemorySample, MemorySummary
from bench.soak.plan import SoakPlan

MAX_DRIFT = 0.03
WRITERS = 2
"""Blocks that may be written at the same time, beyond the bound of the disk."""
FOLDER_FILES = 4
"""Files of the folder that are not blocks: the tag and three locks."""
MAX_DESCRIPTORS = 1.1
_MB = 1_000_000


@dataclass(frozen=True, slots=True)
class SoakReport:
    """One soak.

    turns: answers in conversations.
    asked: answers by the client's manner of listening.
    compared: answers that had to equal an earlier one.
    replayed: answers that had to equal those of a server without reuse.
    errors: client errors by kind.
    details: the first client errors.
    faults: faults of Redis by kind.
    last_checks: self-checks of the server after all chats had ended.
    bad_lines: error lines of the server's log.
    """

    measured_on: str
    machine: Machine
    plan: SoakPlan
    conversations: int
    turns: int
    asked: Mapping[str, int]
    compared: int
    replayed: int
    errors: Mapping[str, int]
    details: tuple[str, ...]
    faults: Mapping[str, int]
    counts: Counts
    last_checks: int
    memory: MemorySummary
    memory_samples: tuple[MemorySample, ...]
    disk: DiskSummary
    disk_samples: tuple[DiskSample, ...]
    bad_lines: tuple[str, ...]


def targets(report: SoakReport) -> list[Target]:
    """List the targets."""
    disk = report.disk
    return [
        Target("client errors", sum(report.errors.values()), 0, at_least=False),
        Target("resident memory, drift after it settled, share", abs(report.memory.drift), MAX_DRIFT, at_least=False),
        Target("checks of the idle server at the end", report.last_checks, 1, at_least=True),
        Target("checks that failed", report.counts.checks["failed"], 0, at_least=False),
        Target("bytes on the disk, share of their bound", disk.nbytes / _most_bytes(report), 1, at_least=False),
        Target("files on the disk that are no blocks", disk.others, FOLDER_FILES + WRITERS, at_least=False),
        Target("open descriptors, end over settled", disk.descriptor_ratio, MAX_DESCRIPTORS, at_least=False),
        Target("promised bytes at the end", report.counts.promised_bytes, 1, at_least=True),
        Target("broken promises", report.counts.broken_promises, 0, at_least=False),
        Target("errors in the server's log", len(report.bad_lines), 0, at_least=False),
    ]


def _most_bytes(report: SoakReport) -> float:
    """Return the most bytes that the files may take: the bound, and what is being written."""
    disk = report.disk
    return report.plan.disk_size + WRITERS * disk.nbytes / max(1, disk.blocks)


def passed(report: SoakReport) -> bool:
    """Return whether every target is met."""
    return all(target.met for target in targets(report))


def content(report: SoakReport) -> dict[str, Any]:
    """Return what the JSON has: the results, their targets and the verdict."""
    held = [asdict(target) | {"met": target.met} for target in targets(report)]
    return asdict(report) | {"targets": held, "passed": passed(report)}


def to_markdown(report: SoakReport) -> str:
    """Format the tables."""
    parts = [
        _heading(report),
        "## Answers by kind of client\n\n" + table(("", "answers"), _rows(report.asked)),
        f"{report.compared:,} answers were compared with an earlier answer to the same prompt, and {report.replayed:,} "
        "with that of a server without reuse.",
        "## Where the tokens of the prompts came from\n\n" + table(("", "tokens"), _rows(report.counts.tokens)),
        f"{report.counts.generated:,} tokens were generated; there were {report.counts.preemptions:,} preemptions.",
        "## Faults of Redis\n\n" + table(("", "times"), _rows(report.faults)),
        "Rejected blocks from Redis, by reason: " + (_listed(report.counts.rejected) or "none") + ".",
        _memory(report),
        _disk(report),
        _troubles(report),
        targets_table(targets(report)),
        f"**{'Met' if passed(report) else 'Missed'}.**",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _heading(report: SoakReport) -> str:
    machine, plan = report.machine, report.plan
    return (
        f"# Soak\n\nMeasured on {report.measured_on}: {machine.cpu}, {machine.cores} core{'s' * (machine.cores > 1)}, "
        f"{machine.memory_gib:.0f} GiB, {', '.join(machine.instruction_sets[:2])}; Python {machine.python}, "
        f"{_versions(machine)}.\n\n{plan.chats} chats for {plan.seconds / 60:g} minutes, a fault every "
        f"{plan.fault_every:g} s (seed {plan.seed}): {report.turns:,} turns in {report.conversations:,} conversations."
    )


def _versions(machine: Machine) -> str:
    return ", ".join(f"{name} {number}" for name, number in machine.versions.items())


def _rows(counts: Mapping[str, int]) -> list[tuple[str, ...]]:
    return [(name, f"{count:,}") for name, count in counts.items()]


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} × {name}" for name, count in counts.items())


def _memory(report: SoakReport) -> str:
    memory = report.memory
    rows = [
        (f"after {report.plan.settle_seconds / 60:g} minutes", f"{memory.settled / _MB:.1f}"),
        ("minimum after that", f"{memory.least / _MB:.1f}"),
        ("maximum after that", f"{memory.most / _MB:.1f}"),
        ("last", f"{memory.last / _MB:.1f}"),
        ("drift", f"{memory.drift:+.2%}"),
    ]
    return "## Resident memory of the server\n\n" + table(("", "MB"), rows)


def _disk(report: SoakReport) -> str:
    disk = report.disk
    rows = [
        ("most MB, of a bound of " + f"{report.plan.disk_size / _MB:,.1f}", f"{disk.nbytes / _MB:,.1f}"),
        ("most blocks", f"{disk.blocks:,}"),
        ("most other files", f"{disk.others:,}"),
        ("promised MB at the end", f"{report.counts.promised_bytes / _MB:,.1f}"),
        ("descriptors of the server, end over settled", f"{disk.descriptor_ratio:.2f}"),
    ]
    return "## The disk\n\n" + table(("", ""), rows)


def _troubles(report: SoakReport) -> str:
    if not report.errors and not report.bad_lines:
        return ""
    lines = [f"- {line}" for line in (*report.details, *report.bad_lines)]
    return "## Client errors\n\n" + table(("", "times"), _rows(report.errors)) + "\n\n" + "\n".join(lines)
