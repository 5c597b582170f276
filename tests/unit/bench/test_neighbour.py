"""The hostile-neighbour benchmark: its targets and the requests of its guests."""

import random
from collections import Counter

import aiohttp
import pytest

from bench.machine import Machine
from bench.neighbour.guests import HOSTILE, Guest, well_behaved
from bench.neighbour.plan import NeighbourPlan
from bench.neighbour.report import NeighbourReport, passed, side, targets, to_markdown
from bench.neighbour.victim import Samples

PLAN = NeighbourPlan(600.0, seed=1)
MACHINE = Machine("cpu", 2, 24.0, (), "Linux x86_64", "3.11", {})


def report(*, ttft: float = 1.0, gap: float = 0.1, errors: int = 0) -> NeighbourReport:
    def samples(scale: float, failures: int) -> Samples:
        return Samples([0.1 * scale * ttft] * 9, [0.01 * scale * gap] * 9, 90, 100, ["HTTP 503"] * failures)

    hostile = side(samples(1.0, errors), 500, 400, {"flood 200": 3})
    calm = side(Samples([0.1] * 9, [0.001] * 9, 90, 100), 500, 400, {})
    return NeighbourReport("2026-01-01", MACHINE, PLAN, hostile, calm, ("HTTP 503",) * errors, ())


def test_equal_sides_meet_every_target() -> None:
    assert passed(report())


@pytest.mark.parametrize(
    ("missed", "at_fault"),
    [
        (report(ttft=1.6), "p99 TTFT"),
        (report(gap=0.16), "p99 ITL"),
        (report(errors=1), "errors that the measured tenant received"),
    ],
)
def test_each_target_is_missed_on_its_own(missed: NeighbourReport, at_fault: str) -> None:
    failed = [target.claim for target in targets(missed) if not target.met]
    assert len(failed) == 1
    assert failed[0].startswith(at_fault)


def test_table_has_a_row_for_each_side() -> None:
    assert "| hostile |" in to_markdown(report(errors=1))


def test_windows_add_up_to_the_hostile_time() -> None:
    assert PLAN.windows * PLAN.window_seconds == 600.0


async def test_guests_of_one_seed_send_the_same_words() -> None:
    async with aiohttp.ClientSession() as session:
        first, second = (Guest(session, "h", 1, "k", random.Random("a"), Counter(), "m") for _ in range(2))
        assert first.words(20) == second.words(20)
    assert len({attack.__name__ for attack, _, _ in HOSTILE}) == len(HOSTILE)
    assert len(well_behaved(PLAN)) == 1
