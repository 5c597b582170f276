"""What the tiers cost the streams that run: the gaps between tokens at eight decoding streams, tiers on against off."""

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

    phase_median_ratios: the same ratio within each phase, to show how much of it is the machine.
    A ratio is None where the client read so late that most tokens came to it at once, with gaps of zero.
    """

    streams: int
    tiers_off_ms: Spread
    tiers_on_ms: Spread
    median_ratio: float | None
    p99_ratio: float | None
    phase_median_ratios: tuple[float | None, ...]


async def measure_step_time(bench: Workbench) -> StepTimeResult:
    """Both servers are up, one is loaded at a time, and each phase begins with the one that ended the last."""
    plan = bench.plan
    pool = plan.streams * plan.stream_context + plan.history_tokens
    off_phases: list[list[float]] = []
    on_phases: list[list[float]] = []
    async with AsyncExitStack() as stack:
        off = await bench.launch(stack, arms.device_only(plan, pool))
        on = await bench.launch(stack, arms.with_redis(plan, pool))
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
        raise RuntimeError(f"the {plan.streams} streams never decoded at the same time: make their answers longer")
    await settle(server)
    found = spread([gap * 1000 for gap in gaps])
    bench.say(
        f"step time {phase + 1} of {plan.phases} · {server.settings.name} · {plan.streams} streams · median "
        f"{found.median:.1f} ms · p99 {found.p99:.1f} ms · {found.count} gaps"
    )
    return gaps


def summarise(streams: int, off: Sequence[Sequence[float]], on: Sequence[Sequence[float]]) -> StepTimeResult:
    """Phases of gaps in seconds, paired by their place in `off` and `on`, to what is published. Pure."""
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
