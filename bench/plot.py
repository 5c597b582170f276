"""Plot of `bench.turns`, in the receipt's colours: device light, CPU medium, the disk dark, recomputed sand."""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench import arms
from bench.conversations import ConversationsResult
from bench.returning import ReturningResult
from bench.step_time import StepTimeResult
from bench.turns_report import TurnsReport

DEVICE, CPU, DISK, COMPUTED = "#68ccd7", "#0088a9", "#064172", "#e0b67b"
TEXT, _SOFT, PAGE, _GRID = "#18232b", "#4e5d67", "#fafcfd", "#d1dbdf"
_ARM_COLOURS = {arms.NO_REUSE: COMPUTED, arms.CPU: CPU, arms.ALL: DISK}


def draw(report: TurnsReport, target: Path) -> None:
    """Write a PNG with a panel for each section that has results, or nothing if none has."""
    panels = [panel for panel in (report.conversations, report.returning, report.step_time) if panel is not None]
    if not panels:
        return
    count = len(panels) + (report.conversations is not None)
    columns, rows = min(count, 2), -(-count // 2)
    figure = Figure(figsize=(5.2 * columns, 3.8 * rows), dpi=144, layout="constrained", facecolor=PAGE)
    grid = figure.subplots(rows, columns, squeeze=False)
    axes = iter(grid.flat)
    for panel in panels:
        match panel:
            case ConversationsResult():
                _ttft_by_turn(next(axes), panel)
                _tokens_by_turn(next(axes), panel)
            case ReturningResult():
                _returning(next(axes), panel)
            case StepTimeResult():
                _step_time(next(axes), panel)
    for spare in axes:
        spare.set_axis_off()
    figure.savefig(target, metadata={"Software": None})


def _ttft_by_turn(axes: Axes, result: ConversationsResult) -> None:
    _style(axes, "Time to first token, median of the chats", "ms", "turn")
    for arm, colour in _ARM_COLOURS.items():
        rows = [row for row in result.rows if row.arm == arm]
        turns, medians = [row.turn for row in rows], [row.ttft_ms.median for row in rows]
        axes.plot(turns, medians, color=colour, marker="o", markersize=4, linewidth=2, label=arm)
    axes.axvline(result.kill_before_turn - 0.5, color=_SOFT, linewidth=1, linestyle=":")
    top = axes.get_ylim()[1]
    axes.set_ylim(0, top * 1.12)
    axes.text(result.kill_before_turn - 0.45, top * 1.05, "kill -9 (all tiers)", color=_SOFT, fontsize=8)
    axes.set_xticks(sorted({row.turn for row in result.rows}))
    axes.legend(frameon=False, fontsize=8, labelcolor=TEXT, loc="upper left", bbox_to_anchor=(0, 0.94))


def _tokens_by_turn(axes: Axes, result: ConversationsResult) -> None:
    _style(axes, f"Where the prompts came from: {arms.ALL}", "thousand tokens", "turn")
    rows = [row for row in result.rows if row.arm == arms.ALL]
    turns = [row.turn for row in rows]
    base = [0.0] * len(rows)
    for name, colour in (("device", DEVICE), ("cpu", CPU), ("disk", DISK), ("computed", COMPUTED)):
        heights = [getattr(row, name) / 1000 for row in rows]
        label = {"cpu": "CPU"}.get(name, name)
        axes.bar(turns, heights, bottom=base, color=colour, width=0.7, label=label)
        base = [low + height for low, height in zip(base, heights, strict=True)]
    axes.set_xticks(turns)
    axes.legend(frameon=False, fontsize=8, labelcolor=TEXT, loc="upper left")


def _returning(axes: Axes, result: ReturningResult) -> None:
    bars = (
        ("recomputed", result.no_reuse_ms, COMPUTED, ""),
        ("from CPU", result.from_cpu_ms, CPU, f", {result.cpu_ratio:.1f}× lower"),
        ("from the disk,\nafter kill -9", result.from_disk_ms, DISK, f", {result.disk_ratio:.1f}× lower"),
    )
    _style(axes, "A returning turn: time to first token", "ms", "")
    _labelled_bars(axes, [(name, ms, colour, f"{ms:,.0f} ms{note}") for name, ms, colour, note in bars])


def _step_time(axes: Axes, result: StepTimeResult) -> None:
    _style(axes, f"Time per token at {result.streams} streams", "ms", "")
    off, on = result.tiers_off_ms, result.tiers_on_ms
    bars = [
        ("median,\ntiers off", off.median, DEVICE, f"{off.median:.1f}"),
        ("median,\ntiers on", on.median, DISK, f"{on.median:.1f}"),
        ("p99,\ntiers off", off.p99, DEVICE, f"{off.p99:.1f}"),
        ("p99,\ntiers on", on.p99, DISK, f"{on.p99:.1f}"),
    ]
    _labelled_bars(axes, bars)


def _labelled_bars(axes: Axes, bars: list[tuple[str, float, str, str]]) -> None:
    for place, (_, height, colour, label) in enumerate(bars):
        axes.bar(place, height, color=colour, width=0.6)
        axes.annotate(label, (place, height), (0, 4), textcoords="offset points", ha="center", fontsize=8, color=TEXT)
    axes.set_xticks(range(len(bars)), [name for name, *_ in bars])
    axes.margins(y=0.12)


def _style(axes: Axes, title: str, unit: str, along: str) -> None:
    """Style a panel with its title, the unit of its vertical axis, and the label of its horizontal axis."""
    axes.set_facecolor(PAGE)
    axes.set_title(title, loc="left", fontsize=10, color=TEXT)
    axes.set_ylabel(unit, fontsize=9, color=_SOFT)
    axes.set_xlabel(along, fontsize=9, color=_SOFT)
    axes.tick_params(colors=_SOFT, labelsize=8, length=0)
    axes.grid(axis="y", color=_GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(_GRID)
