"""Results of `bench.agents` as JSON and Markdown."""

import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from bench.agents.figures import Result
from bench.machine import describe_machine
from bench.report import Target, write_results
from bench.report_tables import table, targets_table

TARGET: Final = 0.95
RULES: Final = "rules"
KILLED: Final = "rules, kill -9"
AS_SENT: Final = "as sent"
ARMS: Final = {
    RULES: "the default settings",
    KILLED: "the same, and the server is killed with SIGKILL before turns 4, 7 and 10",
    AS_SENT: "`--prompts-as-sent`",
}


def targets(results: Sequence[Result]) -> list[Target]:
    """List the targets of the results. The arm without rules is the baseline and has none."""
    return [
        Target(
            f"{each.client}, {each.arm}: prompt from a tier, from turn 2 on", each.later.share, TARGET, at_least=True
        )
        for each in results
        if each.arm != AS_SENT
    ]


def to_markdown(results: Sequence[Result]) -> str:
    """Format a table of all conversations, a table of each one's turns, and the targets."""
    arms = "\n".join(f"- **{name}**: {settings}." for name, settings in ARMS.items())
    parts = [f"# Agents\n\nMeasured on {time.strftime('%Y-%m-%d')}.\n\n{arms}", _conversations(results)]
    parts += [f"## {each.client} {each.version}, {each.arm}\n\n{_turns(each)}" for each in results]
    return "\n\n".join([*parts, targets_table(targets(results))]) + "\n"


def write(results: Sequence[Result], folder: Path) -> None:
    """Write agents.json and agents.md."""
    report: dict[str, Any] = {
        "measured_on": time.strftime("%Y-%m-%d"),
        "machine": asdict(describe_machine()),
        "results": [
            asdict(each)
            | {"share": each.later.share, "least_share": each.least_share, "next_share": each.next.tokens.share}
            for each in results
        ],
        "targets": [asdict(target) | {"met": target.met} for target in targets(results)],
    }
    write_results(folder, "agents", report, to_markdown(results))


def _conversations(results: Sequence[Result]) -> str:
    """Format the sums from turn 2 on."""
    head = (
        "client",
        "arm",
        "turns",
        "prompt",
        "device",
        "CPU",
        "Redis",
        "computed",
        "from a tier",
        "lowest turn",
        "next chat",
    )
    rows = []
    for each in results:
        sizes = each.later
        counts = (sizes.prompt, sizes.device, sizes.cpu, sizes.redis, sizes.computed)
        shares = (f"{sizes.share:.1%}", f"{each.least_share:.1%}", f"{each.next.tokens.share:.1%}")
        rows.append((each.client, each.arm, f"{len(each.turns)}", *(f"{count:,}" for count in counts), *shares))
    notes = "Tokens of prompts by source, from turn 2 on, and the share of the first prompt of another conversation:"
    return f"{notes}\n\n{table(head, rows)}"


def _turns(result: Result) -> str:
    head = ("turn", "requests", "prompt", "device", "CPU", "Redis", "computed", "from a tier", "in the background")
    rows = []
    for turn in result.turns:
        sizes = turn.tokens
        counts = (sizes.prompt, sizes.device, sizes.cpu, sizes.redis, sizes.computed)
        number = f"{turn.number}, after kill -9" if turn.after_kill else f"{turn.number}"
        others = f"{turn.background} of {turn.background_tokens.prompt:,} tokens" if turn.background else "none"
        shown = (*(f"{count:,}" for count in counts), f"{sizes.share:.1%}", others)
        rows.append((number, f"{turn.requests}", *shown))
    return table(head, rows)
