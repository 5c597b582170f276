"""Plots of `bench.peers`: bars by arm, with the spread of the rounds."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from bench.peers.arms import Setup
from bench.peers.metrics import LONG_DECODE, LONG_TTFT, Metric, turn_key
from bench.peers.report import PeersReport
from bench.plot import COMPUTED, CPU, DEVICE, DISK, PAGE, TEXT, style
from bench.stats import median

_COLOURS = (CPU, DEVICE, COMPUTED, DISK, "#8a96a0", "#c0c8cd")
_GROUP = 0.8


def draw(report: PeersReport, target: Path) -> None:
    """Write a PNG with a panel for each suite that has values, or nothing if none has."""
    metrics = report.metrics
    cold = [metric for metric in metrics if metric.key.endswith("cold") or metric.key == LONG_TTFT]
    hit = [metric for metric in metrics if metric.suite == "ttft" and metric.key.endswith("hit")]
    panels = [
        ("Throughput", "tok/s", [metric for metric in metrics if metric.unit == "tok/s"]),
        ("Time to first token, new prompts", "ms", cold),
        ("Time to first token, the same again", "ms", hit),
        ("Mixed load", "ms", [metric for metric in metrics if metric.suite == "mixed" and metric.unit == "ms"]),
    ]
    bars = [panel for panel in panels if panel[2]]
    turns = [setup for setup in (Setup.TURNS_SCARCE, Setup.TURNS_IN_MEMORY) if _turn_values(report, setup)]
    count = len(bars) + len(turns)
    if not count:
        return
    columns, rows = min(count, 2), -(-count // 2)
    figure = Figure(figsize=(5.6 * columns, 3.8 * rows), dpi=144, layout="constrained", facecolor=PAGE)
    axes = iter(figure.subplots(rows, columns, squeeze=False).flat)
    colours = dict(zip(report.kv_megabytes, _COLOURS, strict=False))
    for title, unit, shown in bars:
        _bars(next(axes), title, unit, report, shown, colours)
    for setup in turns:
        _turns(next(axes), report, setup, colours)
    for spare in axes:
        spare.set_axis_off()
    marks = [Patch(color=colour, label=arm) for arm, colour in colours.items()]
    figure.legend(handles=marks, loc="outside upper left", ncols=3, frameon=False, fontsize=9, labelcolor=TEXT)
    figure.savefig(target, metadata={"Software": None})


def _bars(
    axes: Axes, title: str, unit: str, report: PeersReport, metrics: Sequence[Metric], colours: Mapping[str, str]
) -> None:
    style(axes, title, unit, "")
    width = _GROUP / len(colours)
    for place, (arm, colour) in enumerate(colours.items()):
        for group, metric in enumerate(metrics):
            if values := report.record.values(metric.key, arm):
                middle = median(values)
                spread = [[middle - min(values)], [max(values) - middle]]
                at = group - _GROUP / 2 + width * (place + 0.5)
                axes.bar(at, middle, width=width * 0.9, color=colour, yerr=spread, ecolor=TEXT)
                top = (at, max(values))
                axes.annotate(f"{middle:,.0f}", top, (0, 2), textcoords="offset points", ha="center", fontsize=6)
    axes.set_xticks(range(len(metrics)), [_short(metric) for metric in metrics])
    axes.margins(y=0.12)


def _turns(axes: Axes, report: PeersReport, setup: Setup, colours: Mapping[str, str]) -> None:
    plan = report.plan.turns
    few = f"KV for {plan.resident_chats} of {plan.chats} chats"
    style(axes, f"TTFT by turn, {few if setup is Setup.TURNS_SCARCE else 'all in memory'}", "ms", "turn")
    for arm, values in _turn_values(report, setup).items():
        turns = range(1, len(values) + 1)
        axes.plot(turns, values, color=colours[arm], marker="o", markersize=4, linewidth=2)
    axes.set_xticks(range(1, plan.turns + 1))
    axes.set_ylim(bottom=0)


def _turn_values(report: PeersReport, setup: Setup) -> dict[str, list[float]]:
    """Return the median of each turn, by arm."""
    keys = [turn_key(setup, turn) for turn in range(1, report.plan.turns.turns + 1)]
    return {
        arm: [median(report.record.values(key, arm)) for key in keys]
        for arm in report.kv_megabytes
        if all(report.record.values(key, arm) for key in keys)
    }


def _short(metric: Metric) -> str:
    """Return the label that distinguishes the bars of one panel."""
    words = {"mixed.throughput": "mixed load", "mixed.itl_p99": "p99 ITL", "mixed.ttft": "mean TTFT"}
    words |= {LONG_TTFT: "long prompt", LONG_DECODE: "long streams"}
    if short := words.get(metric.key):
        return short
    _, number, *_ = metric.key.split(".")
    return f"{number} stream{'s' * (number != '1')}" if metric.suite == "decode" else f"{int(number):,} tokens"
