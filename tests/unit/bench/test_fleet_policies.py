"""Policies of the choice of a replica, on simulated replicas."""

import gzip
import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from bench.fleet_policies.__main__ import LIMITS, TYPICAL, link_or_typical
from bench.fleet_policies.named import reusable_tokens
from bench.fleet_policies.outcome import Outcome
from bench.fleet_policies.policies import POLICIES, ConsistentHash, PrefixAffinity
from bench.fleet_policies.simulated import simulate
from bench.fleet_policies.tables import tables
from bench.fleet_policies.workloads import Ask, Workload, agents, chats, conversations, hot_prefix, long_shared
from bench.fleet_sim.replica import ReplicaSize
from bench.report import RESULTS
from engine.fleet.routing.router import RoutedPrompt, Router, Seat

SIZE = ReplicaSize(100, 300, limits=LIMITS)


def played(workload: Workload, policy: str, *, redis: bool = False) -> Outcome:
    return simulate(workload, policy, TYPICAL, SIZE, replicas=4, block_nbytes=1, redis=redis)


def seats_of(router: Router, count: int) -> list[Seat]:
    seats = [Seat(epoch=epoch) for epoch in range(count)]
    for seat in seats:
        router.join(seat)
    return seats


@pytest.mark.parametrize("workload", [chats(12, 4), long_shared(24), hot_prefix(24)], ids=lambda each: each.name)
def test_prediction_computes_hardly_more_than_the_best(workload: Workload) -> None:
    computed = {policy: played(workload, policy).computed for policy in POLICIES}
    assert computed["predicted"] <= 1.05 * min(computed.values())
    assert computed["predicted"] < 0.8 * computed["round robin"]


def test_common_tier_makes_every_policy_compute_the_same() -> None:
    workload = chats(8, 4)
    found = {policy: played(workload, policy, redis=True) for policy in POLICIES}
    assert len({each.computed for each in found.values()}) == 1
    assert found["predicted"].restored < found["round robin"].restored


def test_conversation_keeps_its_place_on_the_ring() -> None:
    router = ConsistentHash()
    seats_of(router, 4)
    first = router.choose(RoutedPrompt([1, 2, 3], 200))
    assert router.choose(RoutedPrompt([1, 2, 3, 4, 5], 330)) is first
    assert router.choose(RoutedPrompt([1, 2, 3, 4, 5, 6], 400)) is first
    others = {router.choose(RoutedPrompt([1, 2, 100 + number], 200)).epoch for number in range(40)}
    assert others == {0, 1, 2, 3}


def test_affinity_follows_the_prefix_unless_queues_differ() -> None:
    router = PrefixAffinity(2.0)
    seats_of(router, 3)
    [first] = router.route(RoutedPrompt([1, 2, 3], 200))
    for _ in range(2):
        assert router.route(RoutedPrompt([1, 2, 3], 200))[0].seat is first.seat
    # Three unfinished requests are more than two: the queues decide.
    assert any(router.choose(RoutedPrompt([1, 2, 3], 200)) is not first.seat for _ in range(40))


def test_traces_become_sessions(tmp_path: Path) -> None:
    requests = [
        {"think": 0, "api": 1, "input": 192, "output": 64, "keep": 0, "new": [1, 2, 3]},
        {"think": 640, "api": 1, "input": 256, "output": 640, "keep": 2, "new": [4, 5]},
    ]
    _write(tmp_path / "agent.jsonl.gz", {"id": "a", "requests": requests})
    [[first, second]] = agents(tmp_path, 1, 10).sessions
    assert (len(first.fresh), first.answer, len(second.fresh), second.answer, second.wait) == (6, 8, 8, 20, 10.0)
    assert second.fresh[:4] == first.fresh[:4]
    assert second.fresh[4:6] != first.fresh[4:6]
    _write(tmp_path / "conversation.jsonl.gz", {"timestamp": 2000, "output_length": 320, "hash_ids": [7, 8]})
    [[ask]] = conversations(tmp_path, 1).sessions
    assert (len(ask.fresh), ask.answer, ask.wait) == (32, 10, 2.0)


def _write(path: Path, line: object) -> None:
    with gzip.open(path, "wt") as file:
        file.write(json.dumps(line) + "\n")


def test_reusable_tokens_are_whole_blocks_that_came_before() -> None:
    shared = list(range(64))
    sessions = [
        [Ask(0.0, [*shared, 100], 63), Ask(0.0, [200], 8, continues=True)],
        [Ask(1.0, [*shared, 300], 8)],
    ]
    # The second turn has the first prompt and its answer before it: two blocks. The other chat has one.
    assert reusable_tokens(sessions) == 128 + 64


def test_tables_are_made_from_the_stored_results() -> None:
    made = tables(json.loads((RESULTS / "fleet_policies.json").read_text()))
    assert (RESULTS / "fleet_policies.md").read_text() == made


def test_link_that_loaded_nothing_has_the_typical_speed() -> None:
    idle, used = replace(TYPICAL, load_block=0.0, token=1.0), replace(TYPICAL, load_block=2.0)
    assert link_or_typical([used, idle]) == replace(TYPICAL, token=1.0)
    assert link_or_typical([idle, used]) == used
