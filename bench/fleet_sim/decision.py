"""Time and memory of the decisions of a router that knows many replicas. Real time: run it on a quiet machine."""

import gc
import random
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.observability.percentiles import percentile
from engine.fleet.replica.chains import MAX_CHAINS
from engine.fleet.routing.router import PredictingRouter, RoutedPrompt, Seat
from engine.fleet.wire.report import ReplicaCost, ReplicaWork, Report, Tips

BLOCK: Final = 64
PROMPT_BLOCKS: Final = 64
"""Blocks of a prompt: 4,096 tokens."""

DECISIONS: Final = 5_000
COST: Final = ReplicaCost(0.008, 5e-5, 5e-5, 2e-9, 0.05, 1e-4, 0.002, 5e-4)


@dataclass(frozen=True, slots=True)
class Decisions:
    """Decisions of one router.

    microseconds, microseconds_p99: of a decision and its charge. report_microseconds: of taking a report.
    names: names in its index. memory: bytes of resident memory that the router takes.
    """

    replicas: int
    microseconds: float
    microseconds_p99: float
    report_microseconds: float
    names: int
    memory: int


def measure(replicas: int, seed: int = 1) -> Decisions:
    """Fill a router to its bounds, and measure its decisions.

    Every replica has published as many tips as it may. All share one system prompt. Each prompt continues a chat that
    one replica has.
    """
    draw = random.Random(seed)
    gc.collect()
    before = _resident_bytes()
    router = PredictingRouter(BLOCK)
    seats = [Seat(epoch=epoch) for epoch in range(replicas)]
    for seat in seats:
        router.join(seat)
        router.take(seat, _report(seat, 0, draw))
    tips = [_tips(seat.epoch) for seat in seats]
    for seat, each in zip(seats, tips, strict=True):
        router.take(seat, Report(seat.epoch, 0, ReplicaWork(), COST, gained=Tips(each[: len(each) // 2], each)))
    gc.collect()
    memory = _resident_bytes() - before
    decisions, reports = list[float](), list[float]()
    for number in range(DECISIONS):
        tip = draw.choice(draw.choice(tips))
        # A name stands for a whole prefix, so prompts that differ before a block have different names for the block.
        unknown, behind = ([draw.getrandbits(60) for _ in range(count)] for count in (PROMPT_BLOCKS - 12, 3))
        names = [*range(1, 9), *unknown, tip, *behind]
        prompt = RoutedPrompt(names, PROMPT_BLOCKS * BLOCK + 1, max_tokens=256)
        began = time.perf_counter()
        [assignment] = router.route(prompt)
        decisions.append(time.perf_counter() - began)
        assignment.stream = number
        seat = draw.choice(seats)
        report = _report(seat, number, draw)
        began = time.perf_counter()
        router.take(seat, report)
        reports.append(time.perf_counter() - began)
    # The mean of the upper hundredth would be that of the machine's interruptions.
    return Decisions(
        replicas,
        1e6 * percentile(decisions, 50),
        1e6 * percentile(decisions, 99),
        1e6 * percentile(reports, 50),
        router.num_names,
        memory,
    )


def _tips(epoch: int) -> list[int]:
    return [8, *(((epoch + 1) << 32) + number for number in range(MAX_CHAINS - 1))]


def _report(seat: Seat, seen: int, draw: random.Random) -> Report:
    work = ReplicaWork(draw.randrange(4_000), draw.random() * 1e6, draw.randrange(20), draw.randrange(3))
    return Report(seat.epoch, seen, work, COST)


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
