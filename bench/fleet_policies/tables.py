"""Tables of the comparison, made from its JSON."""

from collections.abc import Container, Mapping, Sequence
from typing import Any, Final

ROUND_ROBIN: Final = "round robin"


def tables(results: Mapping[str, Any], chosen: Container[str] | None = None) -> str:
    """Return a table for each workload, real and simulated. Costs are ratios to round robin.

    chosen: workloads to show; None for all.
    """
    parts = ["# Policies of the choice of a replica", _legend()]
    for kind, title in (("real", "Four replicas"), ("simulated", "Simulation")):
        for workload, memories in results.get(kind, {}).items():
            if chosen is not None and workload not in chosen:
                continue
            base = _base(memories)
            size = results["sizes"][workload] if kind == "real" else 1
            shown = workload if size == 1 else f"{workload} at {size:g} of the length"
            for memory, outcomes in memories.items():
                parts += [f"## {title}: {shown}, {memory}", _table(outcomes, base, is_real=kind == "real")]
    return "\n\n".join(parts) + "\n"


def _legend() -> str:
    return (
        "`python -m bench.fleet_policies` makes this page. Computed tokens and busy time are ratios to round robin\n"
        "without Redis in the same run. Busy time is CPU time on real replicas. Reuse is the share of the tokens that\n"
        "one replica with endless memory would not compute."
    )


def _base(memories: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> Mapping[str, Any]:
    """Return the outcome that the others are compared with: the first one, unless there is round robin."""
    first = next(iter(memories.values()))
    return first.get(ROUND_ROBIN) or next(iter(first.values()))


def _table(outcomes: Mapping[str, Mapping[str, Any]], base: Mapping[str, Any], *, is_real: bool) -> str:
    head = ["policy", "computed", "restored", "busy time", "reuse", "requests by replica"]
    head += [] if is_real else ["TTFT, mean", "TTFT, p99"]
    rows = [_row(policy, each, base, is_real=is_real) for policy, each in outcomes.items()]
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _row(policy: str, each: Mapping[str, Any], base: Mapping[str, Any], *, is_real: bool) -> Sequence[str]:
    reuse = (each["prompt_tokens"] - each["computed"]) / each["reusable"] if each["reusable"] else 1.0
    row = [
        policy,
        f"{each['computed'] / base['computed']:.2f}",
        f"{each['restored_bytes'] / (1 << 20):.0f} MiB",
        f"{each['busy_seconds'] / base['busy_seconds']:.2f}",
        f"{100 * reuse:.1f} %",
        " ".join(str(count) for count in each["counts"]),
    ]
    if not is_real:
        row += [f"{1e3 * each['first_token']:.0f} ms", f"{1e3 * each['first_token_p99']:.0f} ms"]
    return row
