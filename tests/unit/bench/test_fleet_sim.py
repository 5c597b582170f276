"""The simulator of a fleet, and the page that is made from its results."""

import json
from dataclasses import replace

import pytest

from bench.fleet_policies.policies import RoundRobin
from bench.fleet_sim import decision
from bench.fleet_sim.__main__ import PAGE, RESULTS
from bench.fleet_sim.agenda import Agenda
from bench.fleet_sim.block_cache import BlockCache
from bench.fleet_sim.page import page
from bench.fleet_sim.replica import ReplicaSize, SimReplica, SimRequest, Totals
from bench.fleet_sim.scenarios import chats_of, gateway_loss, run, shape_of
from bench.fleet_sim.tip_log import TipLog
from bench.fleet_sim.world import Turn, World, WorldShape
from engine.fleet.replica.chains import MAX_CHAINS
from engine.fleet.wire.report import ReplicaCost

COST = ReplicaCost(step=0.01, decode=0.001, token=0.001, load_start=0.005, load_block=0.001)


class Bench:
    """One simulated replica, and the times at which its answers begin and end."""

    def __init__(self, shared: BlockCache | None = None) -> None:
        self.agenda = Agenda()
        self.totals = Totals()
        self.replica = SimReplica(self.agenda, COST, ReplicaSize(100, 100), self.totals, shared)
        self.starts: list[float] = []
        self.ends: list[float] = []

    def submit(self, names: list[int], tokens: int, answer: int = 1) -> None:
        self.replica.submit(
            SimRequest(
                names,
                names,
                tokens,
                answer,
                lambda: self.starts.append(self.agenda.now),
                lambda: self.ends.append(self.agenda.now),
            )
        )


def test_prompts_are_computed_one_after_the_other() -> None:
    bench = Bench()
    bench.submit([1], 100)
    bench.submit([2], 50)
    bench.agenda.run()
    assert bench.starts == pytest.approx([0.11, 0.16])
    assert bench.totals.computed == 150


def test_answers_take_a_step_for_each_token() -> None:
    bench = Bench()
    bench.submit([], 10, answer=101)
    bench.agenda.run()
    assert bench.ends[0] - bench.starts[0] == pytest.approx(100 * (COST.step + COST.decode))


def test_replicas_that_share_a_core_take_turns() -> None:
    world = World(WorldShape(2, 1, COST, ReplicaSize(100, 100), cores=1), lambda _: RoundRobin())
    seen = world.play(iter([Turn(0.0, [number], [number], 100, 1)]) for number in (1, 2))
    assert list(seen.first_token) == pytest.approx([0.22, 0.22])
    assert seen.totals.busy_seconds == pytest.approx(0.22)


def test_prefix_is_reused_and_the_common_tier_is_loaded() -> None:
    shared = BlockCache(1000)
    bench = Bench(shared)
    bench.submit([1, 2, 3], 193)
    bench.agenda.run()
    bench.submit([1, 2, 3], 193)
    other = Bench(shared)
    other.submit([1, 2, 3], 193)
    other.agenda.run()
    assert (bench.totals.reused, bench.totals.computed) == (192, 194)
    assert (other.totals.loaded, other.totals.computed) == (192, 1)


def test_tips_follow_what_a_tier_holds() -> None:
    tips, held = TipLog(), set[int]()

    def publish() -> set[int]:
        gained, lost = tips.take()
        assert held.isdisjoint(gained)
        assert held.issuperset(lost)
        held.difference_update(lost)
        held.update(gained)
        return held

    tips.add([1, 2, 3], 0)
    assert publish() == {3}
    tips.add([1, 2, 4, 5], 2)
    # The common prefix of both chains is published too.
    assert publish() == {2, 3, 5}
    tips.remove(5)
    assert publish() == {2, 3, 4}
    tips.remove(4)
    assert publish() == {3}


def test_fleet_reuses_nearly_everything_and_loses_no_request() -> None:
    shape = shape_of(8, 2)
    asked = replace(chats_of(8, 2.0), think=1.0)
    row, seen = run(shape, asked, "predicted")
    assert sum(seen.counts) == row.requests > asked.count
    robin, _ = run(replace(shape, shared_blocks=None), asked, "round robin")
    alone, _ = run(replace(shape, shared_blocks=None), asked, "predicted")
    assert row.computed <= alone.computed < 0.8 * robin.computed
    assert row.first_token < robin.first_token


def test_stale_reports_gather_no_herd() -> None:
    asked = chats_of(12, 12.0)
    fresh, _ = run(shape_of(12, 4, 0.1), asked, "predicted")
    stale, _ = run(shape_of(12, 4, 5.0), asked, "predicted")
    assert stale.first_token < 1.2 * fresh.first_token
    assert stale.first_token_p99 < 1.5 * fresh.first_token_p99


def test_requests_of_a_lost_gateway_are_taken_over() -> None:
    loss = gateway_loss(4, 2, 4.0)
    assert loss.row.taken_over > 0
    assert loss.row.requests >= chats_of(4, 4.0).count


def test_router_of_many_replicas_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decision, "DECISIONS", 50)
    found = decision.measure(20)
    assert found.names <= 20 * MAX_CHAINS + 50 * decision.PROMPT_BLOCKS


def test_page_is_made_from_the_stored_results() -> None:
    assert PAGE.read_text() == page(json.loads(RESULTS.read_text())), "run `python -m bench.fleet_sim --page`"
