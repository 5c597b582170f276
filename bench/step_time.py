"""Cost of the tiers to running streams: gaps between tokens at eight decoding streams, with tiers and without."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

from app.load.client import fixed_length
from app.load.rates import steady_gaps
from bench import arms
from bench.server import EbbServer, settle
from bench.stats import Spread, ratio, spread
from bench.workbench import Workbench
from bench.workload import history


@dataclass(frozen=True, slots=True)
class StepTimeResult:
    """Gaps in milliseconds while all streams decode, over all phases. Ratios are tiers on over tiers off.

    A ratio is None if the client read so late that most tokens arrived together, with gaps of zero.

    phase_median_ratios: ratio of the medians within each phase, which shows the influence of the machine.
    """

    streams: int
    tiers_off_ms: Spread
    tiers_on_ms: Spread
    median_ratio: float | None
    p99_ratio: float | None
    phase_median_ratios: tuple[float | None, ...]


async def measure_step_time(bench: Workbench) -> StepTimeResult:
    """Measure both servers, with load on one at a time.

    Each phase begins with the server that ended the previous one.
    """
    plan = bench.plan
    pool = plan.streams * plan.stream_context + plan.history_tokens
    off_phases: list[list[float]] = []
    on_phases: list[list[float]] = []
    async with AsyncExitStack() as stack:
        off = await bench.launch(stack, arms.device_only(plan, pool))
        on = await bench.launch(stack, arms.with_all(plan, pool))
        for phase in range(plan.phases):
            for server in (off, on) if phase % 2 == 0 else (on, off):
                gaps = await _load(bench, server, phase)
                (off_phases if server is off else on_phases).append(gaps)
    return summarise(plan.streams, off_phases, on_phases)


async def _load(bench: Workbench, server: EbbServer, phase: int) -> list[float]:
    plan = bench.plan
    how = fixed_length(plan.stream_tokens)
    prompts = [history(plan.stream_words, f"step/{phase}/{stream}") for stream in range(plan.streams)]
    answers = await asyncio.gather(*(server.client.chat(prompt, how) for prompt in prompts))
    gaps = steady_gaps([[answer.sent + at for at in answer.text_times] for answer in answers])
    if not gaps:
        raise RuntimeError(f"the {plan.streams} streams never decoded at the same time; make their answers longer")
    await settle(server)
    found = spread([gap * 1000 for gap in gaps])
    bench.say(
        f"step time {phase + 1} of {plan.phases} · {server.settings.name} · {plan.streams} streams · median "
        f"{found.median:.1f} ms · p99 {found.p99:.1f} ms · {found.count} gaps"
    )
    return gaps


def summarise(streams: int, off: Sequence[Sequence[float]], on: Sequence[Sequence[float]]) -> StepTimeResult:
    """Aggregate gaps in seconds. `off` and `on` hold the phases in the same order. Pure."""
    tiers_off = spread([gap * 1000 for phase in off for gap in phase])
    tiers_on = spread([gap * 1000 for phase in on for gap in phase])
    return StepTimeResult(
        streams=streams,
        tiers_off_ms=tiers_off,
        tiers_on_ms=tiers_on,
        median_ratio=ratio(tiers_on.median, tiers_off.median),
        p99_ratio=ratio(tiers_on.p99, tiers_off.p99),
        phase_median_ratios=tuple(ratio(spread(b).median, spread(a).median) for a, b in zip(off, on, strict=True)),
    )
