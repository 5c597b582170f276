"""Results of `bench.turns` as Markdown tables."""

from bench.conversations import ConversationsResult
from bench.exactness import ExactnessResult
from bench.plan import Plan
from bench.report_tables import table, targets_table
from bench.returning import ReturningResult, Round
from bench.step_time import StepTimeResult
from bench.turns_report import TurnsReport, targets


def to_markdown(report: TurnsReport) -> str:
    """Format the tables."""
    parts = [_heading(report)]
    if report.conversations:
        parts.append(_conversations(report.conversations, report.plan))
    if report.returning:
        parts.append(_returning(report.returning))
    if report.exactness:
        parts.append(_exactness(report.exactness))
    if report.step_time:
        parts.append(_step_time(report.step_time))
    parts.append(targets_table(targets(report)))
    return "\n\n".join(parts) + "\n"


def _heading(report: TurnsReport) -> str:
    machine = report.machine
    versions = ", ".join(f"{name} {number}" for name, number in machine.versions.items())
    return (
        f"# Turns\n\nMeasured on {report.measured_on}: {machine.cpu}, {machine.cores} core{'s' * (machine.cores > 1)}, "
        f"{machine.memory_gib:.0f} GiB, {', '.join(machine.instruction_sets[:2])}; {report.plan.dtype}; "
        f"Python {machine.python}, {versions}."
    )


def _conversations(result: ConversationsResult, plan: Plan) -> str:
    head = ("arm", "turn", "TTFT median, ms", "TTFT p95, ms", "prompt", "device", "CPU", "Redis", "computed")
    rows = [
        (
            row.arm,
            f"{row.turn}",
            f"{row.ttft_ms.median:,.0f}",
            f"{row.ttft_ms.p95:,.0f}",
            *(f"{tokens:,}" for tokens in (row.prompt_tokens, row.device, row.cpu, row.disk, row.computed)),
        )
        for row in result.rows
    ]
    ratios = "; ".join(f"{arm} {ratio:.1f}" for arm, ratio in result.later_ttft_ratio.items())
    equal = [
        f"- {each.arm}: {each.equal_of_same_request:.0%} of {each.same_requests} answers to equal requests are equal, "
        f"{each.equal_of_all:.0%} of all {each.answers}."
        for each in result.equality
    ]
    return "\n\n".join(
        [
            f"## {plan.shape.chats} chats, {plan.shape.turns} turns",
            "The device pool holds two chats; tokens are sums over the chats. The server with Redis is killed with -9 "
            f"before turn {result.kill_before_turn}; it was ready again after {result.ready_after_kill_s:.1f} s.",
            table(head, rows),
            f"Median TTFT of turns 2 and later, times lower than without reuse: {ratios}.",
            f"Greedy answers of {plan.answer_tokens} tokens against the arm without reuse:\n\n" + "\n".join(equal),
        ]
    )


def _returning(result: ReturningResult) -> str:
    def cells(name: str, ms: float, ratio: float, which: str) -> tuple[str, ...]:
        each = [getattr(one, which) for one in result.rounds]
        held = sorted(f"{one.device} / {one.cpu} / {one.disk} / {one.computed}" for one in each)[len(each) // 2]
        times = ", ".join(f"{one.ttft_ms:,.0f}" for one in each)
        return (name, f"{ms:,.0f}", f"{ratio:.1f}", times, held)

    head = ("prefix", "TTFT median, ms", "times lower", "each, ms", "device / CPU / Redis / computed")
    rows = [
        cells("recomputed", result.no_reuse_ms, 1.0, "no_reuse"),
        cells("from CPU", result.from_cpu_ms, result.cpu_ratio, "from_cpu"),
        cells("from the disk, after kill -9", result.from_disk_ms, result.disk_ratio, "from_disk"),
    ]
    return f"## A returning turn of {_prompt_tokens(result.rounds):,} tokens\n\n" + table(head, rows)


def _prompt_tokens(rounds: tuple[Round, ...]) -> int:
    return round(sum(one.no_reuse.prompt_tokens for one in rounds) / len(rounds))


def _exactness(results: tuple[ExactnessResult, ...]) -> str:
    head = (
        "dtype",
        "greedy tokens",
        "prompts compared",
        "cached length",
        "equal on device, CPU, Redis",
        "equal to recomputed",
    )
    rows = [
        (
            each.dtype,
            f"{each.answer_tokens}",
            f"{each.compared} of {each.prompts}",
            ", ".join(f"{cached:,}" for cached in each.cached_tokens),
            "not comparable" if each.equal_across_tiers is None else f"{each.equal_across_tiers:.0%}",
            f"{each.equal_to_computed:.0%}",
        )
        for each in results
    ]
    return "## The same answer, wherever the prefix was\n\n" + table(head, rows)


def _step_time(result: StepTimeResult) -> str:
    head = ("", "median, ms", "p95, ms", "p99, ms", "gaps")
    rows = [
        (name, f"{each.median:.1f}", f"{each.p95:.1f}", f"{each.p99:.1f}", f"{each.count:,}")
        for name, each in (("tiers off", result.tiers_off_ms), ("tiers on", result.tiers_on_ms))
    ]
    phases = ", ".join(map(_ratio, result.phase_median_ratios))
    return (
        f"## Step time at {result.streams} streams\n\n{table(head, rows)}\n\nOn over off: median "
        f"{_ratio(result.median_ratio)}, p99 {_ratio(result.p99_ratio)}; median by phase: {phases}."
    )


def _ratio(value: float | None) -> str:
    return "not measurable" if value is None else f"{value:.3f}"
