"""Points of a round, each measured for every arm in turn."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from app.load.client import LoadClient
from bench.peers import metrics, suites
from bench.peers.arms import Setup
from bench.peers.plan import PeersPlan
from bench.peers.prompts import PromptMaker
from bench.peers.suites import FixedLength, Pin

Measured = Mapping[str, float]
"""Values by metric."""

SUITES = ("decode", "ttft", "mixed", "turns", "long")


@dataclass(frozen=True, slots=True)
class Trial:
    """One measurement of one arm. Two trials with the same seed share their prompts, others share nothing."""

    client: LoadClient
    fixed_length: FixedLength
    pin: Pin
    seed: str


@dataclass(frozen=True, slots=True)
class Point:
    """One measurement that is made for every arm before the next point."""

    name: str
    setup: Setup
    measure: Callable[[Trial], Awaitable[Measured]]


def points(plan: PeersPlan, make: PromptMaker, names: Sequence[str]) -> list[Point]:
    """List the points of the suites `names`, in the order of a round."""
    found: list[Point] = []
    if "decode" in names:
        found += [_decode(plan, make, streams) for streams in plan.decode_streams]
    if "ttft" in names:
        found += [_ttft(make, tokens, repeats) for tokens, repeats in plan.ttft]
    if "mixed" in names:
        found.append(_mixed(plan, make))
    if "turns" in names:
        found += [_turns(plan, make, setup) for setup in (Setup.TURNS_SCARCE, Setup.TURNS_IN_MEMORY)]
    if "long" in names:
        found += [_long_ttft(plan, make), _long_decode(plan, make)]
    return found


def _decode(plan: PeersPlan, make: PromptMaker, streams: int) -> Point:
    async def measure(trial: Trial) -> Measured:
        rate = await suites.measure_decode(
            trial.client,
            make,
            streams=streams,
            prompt_tokens=plan.decode_prompt,
            tokens=plan.decode_tokens,
            pin=trial.pin,
            seed=trial.seed,
        )
        return {metrics.decode_key(streams): rate}

    return Point(f"decode at {streams}", Setup.SERVING, measure)


def _ttft(make: PromptMaker, tokens: int, repeats: int) -> Point:
    async def measure(trial: Trial) -> Measured:
        cold, hit = await suites.measure_ttft(trial.client, make, tokens=tokens, repeats=repeats, seed=trial.seed)
        return {metrics.ttft_key(tokens, "cold"): cold, metrics.ttft_key(tokens, "hit"): hit}

    return Point(f"TTFT of {tokens}", Setup.SERVING, measure)


def _mixed(plan: PeersPlan, make: PromptMaker) -> Point:
    async def measure(trial: Trial) -> Measured:
        found = await suites.measure_mixed(trial.client, make, plan.mixed, trial.pin, trial.seed)
        return {
            "mixed.throughput": found.tokens_per_second,
            "mixed.itl_p99": found.itl_p99,
            "mixed.ttft": found.arrivals_ttft,
        }

    return Point("mixed load", Setup.SERVING, measure)


def _turns(plan: PeersPlan, make: PromptMaker, setup: Setup) -> Point:
    async def measure(trial: Trial) -> Measured:
        by_turn = await suites.measure_turns(trial.client, make, plan.turns, trial.fixed_length, trial.seed)
        later = {metrics.turns_key(setup): sum(by_turn[1:]) / (len(by_turn) - 1)}
        return later | {metrics.turn_key(setup, turn): ms for turn, ms in enumerate(by_turn, 1)}

    return Point(setup.value, setup, measure)


def _long_ttft(plan: PeersPlan, make: PromptMaker) -> Point:
    async def measure(trial: Trial) -> Measured:
        cold, _ = await suites.measure_ttft(trial.client, make, tokens=plan.long.prompt, repeats=1, seed=trial.seed)
        return {metrics.LONG_TTFT: cold}

    return Point("TTFT of a long prompt", Setup.LONG, measure)


def _long_decode(plan: PeersPlan, make: PromptMaker) -> Point:
    async def measure(trial: Trial) -> Measured:
        rate = await suites.measure_decode(
            trial.client,
            make,
            streams=plan.long.streams,
            prompt_tokens=plan.long.stream_prompt,
            tokens=plan.long.stream_tokens,
            pin=trial.pin,
            seed=trial.seed,
            prefilled=True,
        )
        return {metrics.LONG_DECODE: rate}

    return Point("decode after long prompts", Setup.LONG, measure)
