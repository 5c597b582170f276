"""Results of a run of `bench.api`, their targets, and their form as JSON and Markdown."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bench.api.first_byte import FirstByteResult
from bench.api.fuzz import FuzzResult
from bench.api.store import StoreResult
from bench.api.streams import StreamsResult
from bench.machine import Machine
from bench.report import Target
from bench.report_tables import table, targets_table
from engine.testing.schedule import STEP_SECONDS

MAX_CORES = 1.0
MAX_LATE_MS = 60.0
MAX_KB = 60.0
MAX_FIRST_BYTE_MS = 5.0
MAX_STORE_MS = 50.0
MAX_LAG_MS = 50.0


@dataclass(frozen=True, slots=True)
class ApiReport:
    """One run. A section that was not selected is None or empty."""

    measured_on: str
    machine: Machine
    streams: tuple[StreamsResult, ...] = ()
    first_byte: FirstByteResult | None = None
    store: StoreResult | None = None
    fuzz: tuple[FuzzResult, ...] = ()


def targets(report: ApiReport) -> list[Target]:
    """List the targets of the sections that ran."""
    return [
        *(target for result in report.streams for target in _of_streams(result)),
        *(_of_first_byte(report.first_byte) if report.first_byte else ()),
        *(_of_store(report.store) if report.store else ()),
        *(target for result in report.fuzz for target in _of_fuzz(result)),
    ]


def _of_streams(result: StreamsResult) -> Iterator[Target]:
    plan, name = result.plan, _name(result)
    yield Target(f"{name}: late at the reader, p99, ms", result.late_ms.p99, MAX_LATE_MS, at_least=False)
    yield Target(f"{name}: streams that were read to the end", result.whole, plan.streams, at_least=True)
    if not plan.frozen:
        yield Target(f"{name}: cores", result.cores, MAX_CORES, at_least=False)
        yield Target(f"{name}: resident memory of a stream, kB", result.kb_per_stream, MAX_KB, at_least=False)


def _of_first_byte(result: FirstByteResult) -> Iterator[Target]:
    for name, waits in (("chat completion", result.chat_ms), ("message", result.message_ms)):
        yield Target(f"{name} to its first text, p95, ms", waits.p95, MAX_FIRST_BYTE_MS, at_least=False)


def _of_store(result: StoreResult) -> Iterator[Target]:
    listing, searching = result.worst_ms("list"), result.worst_ms("search")
    yield Target(f"listing {result.conversations:,} conversations, p95, ms", listing, MAX_STORE_MS, at_least=False)
    yield Target(f"searching {result.messages:,} messages, p95, ms", searching, MAX_STORE_MS, at_least=False)


def _of_fuzz(result: FuzzResult) -> Iterator[Target]:
    name = f"{result.requests:,} requests by {result.by}"
    yield Target(f"{name}: answers of 5xx", result.faults, 0, at_least=False)
    yield Target(f"{name}: errors in the server's log", len(result.log_errors), 0, at_least=False)
    yield Target(f"{name}: maximum lag of the event loop, ms", result.lag_ms, MAX_LAG_MS, at_least=False)


def passed(report: ApiReport) -> bool:
    """Return whether every target is met."""
    return all(target.met for target in targets(report))


def content(report: ApiReport) -> dict[str, Any]:
    """Return what the JSON has: the results, their targets and the verdict."""
    held = [asdict(target) | {"met": target.met} for target in targets(report)]
    return asdict(report) | {"targets": held, "passed": passed(report)}


def to_markdown(report: ApiReport) -> str:
    """Format the tables, with the targets first."""
    machine = report.machine
    heading = (
        f"# The API\n\nMeasured on {report.measured_on}: {machine.cpu}, {machine.cores} cores, "
        f"{machine.memory_gib:.0f} GiB; Python {machine.python}. The server is the real one and runs in its own "
        "process. Its engine replays tokens."
    )
    parts = [heading, targets_table(targets(report))]
    if report.streams:
        parts.append(_streams(report.streams))
    if report.first_byte:
        parts.append(_first_byte(report.first_byte))
    if report.store:
        parts.append(_store(report.store))
    if report.fuzz:
        parts.append(_fuzz(report.fuzz))
    return "\n\n".join(parts) + "\n"


def _name(result: StreamsResult) -> str:
    frozen = f", {result.plan.frozen} of them not reading for {result.plan.seconds:g} s" if result.plan.frozen else ""
    return f"{result.plan.streams:,} streams of {result.plan.kind}{frozen}"


def _streams(results: Sequence[StreamsResult]) -> str:
    head = (
        "",
        "events/s",
        "cores",
        "late: median, ms",
        "p95",
        "p99",
        "most",
        "kB each",
        "client: cores",
        "client: lag, p99",
    )
    rows = [
        (
            _name(each),
            f"{each.events:,.0f}",
            f"{each.cores:.2f}",
            *(f"{ms:.1f}" for ms in (each.late_ms.median, each.late_ms.p95, each.late_ms.p99, each.late_ms.high)),
            f"{each.kb_per_stream:.1f}",
            f"{each.client_cores:.2f}",
            f"{each.client_lag_ms.p99:.1f}",
        )
        for each in results
    ]
    return (
        f"## Streams\n\nEvery stream receives a token every {STEP_SECONDS * 1e3:g} ms, all at the same moment, as from "
        "one step of a batch. Late: from that moment until the reader has read the token, with the client's own lag."
        "\n\n" + table(head, rows)
    )


def _first_byte(result: FirstByteResult) -> str:
    rows = [
        (name, f"{each.count}", *(f"{ms:.2f}" for ms in (each.median, each.p95, each.p99, each.high)))
        for name, each in (("POST /v1/chat/completions", result.chat_ms),
                           ("POST /api/conversations/{id}/messages", result.message_ms))
    ]  # fmt: skip
    return (
        "## The first byte\n\nTime from a request to its first text, with an engine that answers immediately.\n\n"
        + table(("", "samples", "median, ms", "p95", "p99", "most"), rows)
    )


def _store(result: StoreResult) -> str:
    rows = [
        (each.name, *(f"{ms:.2f}" for ms in (each.milliseconds.median, each.milliseconds.p95, each.milliseconds.high)))
        for each in result.figures
    ]
    heading = f"## {result.conversations:,} conversations, {result.messages:,} messages\n\n"
    return heading + table(("", "median, ms", "p95", "most"), rows)


def _fuzz(results: Sequence[FuzzResult]) -> str:
    rows = [
        (
            each.by,
            f"{each.requests:,}",
            f"{each.seconds:.0f}",
            ", ".join(f"{count:,} × {status}" for status, count in sorted(each.statuses.items())),
            f"{each.lag_ms:g}",
        )
        for each in results
    ]
    head = ("by", "requests", "seconds", "answers", "maximum lag of the event loop, ms")
    return "## Fuzzing\n\n" + table(head, rows)
