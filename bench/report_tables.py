"""Tables of results, in Markdown."""

from collections.abc import Sequence

from bench.report import Target


def targets_table(held: Sequence[Target]) -> str:
    """Format a section with each target and whether it is met."""
    rows = [
        (
            target.claim,
            "not measured" if target.value is None else f"{target.value:.3g}",
            f"{'≥' if target.at_least else '≤'} {target.bound:g}",
            "yes" if target.met else "**no**",
        )
        for target in held
    ]
    return "## Targets\n\n" + table(("claim", "value", "target", "met"), rows)


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """Format rows of cells below a heading."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
