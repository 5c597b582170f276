"""Result of `bench.peers` as JSON, from which a later run can continue, and as Markdown."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from bench.large_model import LARGE_MODELS
from bench.machine import Machine
from bench.machine_limits import MachineLimits
from bench.peers.limits import Reads, Share, Sizes, shares
from bench.peers.metrics import Metric, metrics_of
from bench.peers.plan import PeersPlan
from bench.peers.record import Record
from bench.peers.summary import Ratio, large_model_targets, ratios, spreads, targets
from bench.report import Target
from bench.report_tables import table, targets_table
from bench.stats import Spread


@dataclass(frozen=True, slots=True)
class PeersReport:
    """Results of one run.

    versions: versions of the peers.
    kv_megabytes: by arm, the memory that it reserves for KV while serving.
    model: name of the model.
    sizes: sizes of the model's matrices.
    limits: limits of the machine.
    reads: by arm, the weights that a token reads.
    """

    measured_on: str
    machine: Machine
    versions: Mapping[str, str]
    kv_megabytes: Mapping[str, float]
    model: str
    sizes: Sizes
    limits: MachineLimits
    reads: Mapping[str, Reads]
    plan: PeersPlan
    record: Record

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Metrics that have values, in the order of the tables."""
        return tuple(metric for metric in metrics_of(self.plan) if self.record.arms(metric.key))

    @property
    def targets(self) -> list[Target]:
        """Ebb's targets on this model."""
        return (large_model_targets if self.model in LARGE_MODELS else targets)(self.record, self.metrics)

    @property
    def shares(self) -> list[Share]:
        """Speed of the arms compared with the limits."""
        return shares(self.record, self.limits, self.sizes, self.reads)


def content(report: PeersReport) -> dict[str, Any]:
    """Return what the JSON has: samples and derived results."""
    record, metrics = report.record, report.metrics
    return {
        "measured_on": report.measured_on,
        "machine": asdict(report.machine),
        "versions": dict(report.versions),
        "kv_megabytes": dict(report.kv_megabytes),
        "model": report.model,
        "limits": asdict(report.limits),
        "shares": [asdict(share) for share in report.shares],
        "plan": asdict(report.plan),
        "targets": [asdict(target) | {"met": target.met} for target in report.targets],
        "ratios": [asdict(ratio) for ratio in ratios(record, metrics)],
        "spreads": {
            key: {arm: asdict(each) for arm, each in arms.items()} for key, arms in spreads(record, metrics).items()
        },
        **record.to_json(),
    }


def resumed(text: str, plan: PeersPlan) -> Record:
    """Restore the record from the JSON of an earlier run.

    Raise ValueError if that run had another plan, or if `text` is not the JSON of a run.
    """
    try:
        stored = json.loads(text)
        same = stored["plan"] == json.loads(json.dumps(asdict(plan)))
        record = Record.from_json(stored)
    except (KeyError, AttributeError, TypeError) as error:
        raise ValueError(f"the file is not the result of a run: {error!r}") from error
    if not same:
        raise ValueError("the file is the result of a run with other sizes")
    return record


def to_markdown(report: PeersReport) -> str:
    """Format the tables."""
    machine, plan = report.machine, report.plan
    versions = ", ".join(f"{name} {number}" for name, number in report.versions.items())
    rounds = max(report.record.rounds_done.values(), default=0)
    serving = ", ".join(f"{arm} {megabytes:,.0f} MB" for arm, megabytes in report.kv_megabytes.items())
    heading = (
        f"# Peers side by side\n\nMeasured on {report.measured_on}: {machine.cpu}, {machine.cores} "
        f"core{'s' * (machine.cores > 1)}, {machine.memory_gib:.0f} GiB, {', '.join(machine.instruction_sets[:2])}; "
        f"{versions}; {report.model}, the same weights, the same HTTP client, {machine.cores} threads each, "
        f"{rounds} of {plan.rounds} rounds, one server at a time while the others are paused.\n\n"
        f"{plan.decode_tokens} tokens out of {plan.decode_prompt} in. Median, and in brackets the minimum and "
        f"maximum of the rounds. Memory for KV, part of RSS: {serving}."
    )
    return "\n\n".join([heading, _medians(report), _ratios(report), _shares(report), _targets(report)]) + "\n"


def _medians(report: PeersReport) -> str:
    arms = list(report.kv_megabytes)
    found = spreads(report.record, report.metrics)
    rows = [
        (f"{metric.title}, {metric.unit}", *(_cell(found[metric.key].get(arm)) for arm in arms))
        for metric in report.metrics
    ]
    return "## Medians\n\n" + table(("", *arms), rows)


def _cell(spread: Spread | None) -> str:
    if spread is None:
        return "–"
    if spread.count == 1:
        return _number(spread.median)
    return f"{_number(spread.median)} ({_number(spread.low)} – {_number(spread.high)})"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _ratios(report: PeersReport) -> str:
    titles = {metric.key: metric for metric in report.metrics}
    rows = [_ratio_row(titles[ratio.metric], ratio) for ratio in ratios(report.record, report.metrics)]
    return "## Ebb over the best peer\n\nThe ratio is taken within each round.\n\n" + table(
        ("", "arm", "best peer", "median", "minimum – maximum", "rounds", "better"), rows
    )


def _ratio_row(metric: Metric, ratio: Ratio) -> tuple[str, ...]:
    return (
        metric.title,
        ratio.arm,
        ratio.peer,
        f"{ratio.median:.2f}",
        f"{ratio.low:.2f} – {ratio.high:.2f}",
        f"{ratio.rounds}",
        "higher" if metric.higher_is_better else "lower",
    )


def _shares(report: PeersReport) -> str:
    limits = report.limits
    rows = [
        (
            each.arm,
            f"{each.megabytes:,.0f}",
            *("–" if share is None else f"{share:.0%}" for share in (each.decode, each.prefill)),
        )
        for each in report.shares
    ]
    in_bytes = "" if limits.byte_gops is None else f" Products of bytes: {limits.byte_gops:,.0f} billion operations/s."
    return (
        f"## Compared with the limits\n\nReading memory: {limits.gigabytes:.1f} GB/s. "
        f"Dot products of bf16: {limits.gflops:,.0f} GFLOPS.{in_bytes} Prompts are compared with the products "
        "that an arm computes. Those of Ebb's four bits and of llama.cpp's four and eight are products of bytes. "
        "An arm that guesses tokens can exceed the limit of one stream.\n\n"
        + table(("", "weights of a token, MB", "1 stream, share of reading", "512 cold, share of products"), rows)
    )


def _targets(report: PeersReport) -> str:
    return targets_table(report.targets)
