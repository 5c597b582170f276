"""Results of a run on a GPU as a Markdown page."""

from collections.abc import Mapping
from typing import Any


def table(report: Mapping[str, Any]) -> str:
    """Format a section per phase with a row per figure. A failed phase shows its reason."""
    machine = report["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    lines = [
        "# On a GPU",
        "",
        f"`make bench-gpu`, {report['measured_on']}: {machine.get('gpu', 'no GPU')}, {machine['cpu']}, "
        f"CUDA {machine.get('cuda', 'none')}, {versions}; {report['model']}.",
    ]
    for name, found in report["phases"].items():
        verdict = {True: ": met", False: ": missed"}.get(found.get("met"), "")
        lines += ["", f"## {name}{verdict}", "", "| figure | |", "| --- | ---: |"]
        lines += [f"| {label} | {_text(value)} |" for label, value in _flat(found) if label != "met"]
    return "\n".join(lines) + "\n"


def _flat(found: Mapping[str, Any], before: str = "") -> list[tuple[str, Any]]:
    rows: list[tuple[str, Any]] = []
    for name, value in found.items():
        label = f"{before}{name.replace('_', ' ')}"
        rows += _flat(value, f"{label}: ") if isinstance(value, Mapping) else [(label, value)]
    return rows


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
