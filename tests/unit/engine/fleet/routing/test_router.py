"""Choice of a replica: least predicted seconds, where a known prefix is hardly any work."""

import time

import pytest
from msgspec import structs

from engine.api.role import Role
from engine.fleet.routing.prediction import MATURE, StepLimits
from engine.fleet.routing.router import PredictingRouter, RoutedPrompt, Seat
from engine.fleet.wire.report import NO_TIPS, ReplicaCost, ReplicaWork, Report, Tips

BLOCK = 64
COST = ReplicaCost(step=0.01, decode=0.001, token=0.001, load_start=0.001, load_block=0.002)


class Fleet:
    """A router on a clock that the test moves, and its seats. Every seat has reported `COST`."""

    def __init__(self, count: int, limits: StepLimits = StepLimits()) -> None:  # noqa: B008
        self.now = 100.0
        self.router = PredictingRouter(BLOCK, limits, clock=lambda: self.now)
        self.seats = [Seat(epoch=epoch) for epoch in range(count)]
        for seat in self.seats:
            self.router.join(seat)
            self.report(seat)

    def report(
        self,
        seat: Seat,
        work: ReplicaWork = ReplicaWork(),  # noqa: B008
        seen: int = 0,
        gained: Tips = NO_TIPS,
        lost: Tips = NO_TIPS,
        cost: ReplicaCost = COST,
    ) -> None:
        self.router.take(seat, Report(seat.epoch, seen, work, cost, gained=gained, lost=lost))

    def choose(self, prompt: RoutedPrompt) -> int:
        return self.seats.index(self.router.choose(prompt))


def prompt(salt: int, blocks: int, max_tokens: int | None = 1) -> RoutedPrompt:
    """Return a prompt with whole blocks and one token more. Equal salts share all blocks of the shorter one."""
    return RoutedPrompt([salt * 1000 + at for at in range(1, blocks + 1)], blocks * BLOCK + 1, max_tokens=max_tokens)


def test_prompt_goes_where_its_prefix_is() -> None:
    fleet = Fleet(3)
    fleet.report(fleet.seats[1], gained=Tips(device=[1008]))
    # The tip implies all blocks before it.
    assert fleet.choose(prompt(1, 8)) == 1
    assert fleet.choose(prompt(1, 30)) == 1
    [assignment] = fleet.router.route(prompt(1, 9))
    assert (assignment.seat, assignment.reason) == (fleet.seats[1], "prefix")
    assert assignment.seconds == pytest.approx((BLOCK + 1) * COST.token)
    assert assignment.predicted == pytest.approx(assignment.seconds + COST.step)


def test_replica_is_chosen_by_its_role() -> None:
    fleet = Fleet(3)
    roles: tuple[Role, ...] = ("prefill", "decode", "both")
    for seat, role in zip(fleet.seats, roles, strict=True):
        fleet.router.leave(seat)
        seat.role = role
        fleet.router.join(seat)
    fleet.report(fleet.seats[2], ReplicaWork(decodes=8, prompts=4))
    answer = RoutedPrompt([1, 2], 2 * BLOCK, part="answer")
    assert fleet.choose(prompt(1, 2)) == 0
    assert fleet.choose(answer) == 1
    # Another replica stands in for those that are gone.
    fleet.router.leave(fleet.seats[1])
    assert fleet.choose(answer) == 2
    fleet.router.leave(fleet.seats[2])
    assert fleet.choose(answer) == 0


def test_prefix_counts_as_much_as_it_saves() -> None:
    fleet = Fleet(2)
    # The prefix saves 512 tokens of this request, and as much for the next one.
    fleet.report(fleet.seats[1], ReplicaWork(tokens=1000), gained=Tips(device=[1008]))
    assert fleet.choose(prompt(1, 8)) == 1
    fleet.report(fleet.seats[1], ReplicaWork(tokens=1050))
    assert fleet.choose(prompt(1, 8)) == 0


def test_common_lower_tier_makes_any_replica_good() -> None:
    fleet = Fleet(3)
    fleet.report(fleet.seats[1], ReplicaWork(tokens=100), gained=Tips(device=[1008], below=[1008]))
    fleet.report(fleet.seats[2], ReplicaWork(tokens=100))
    # Eight blocks take 17 ms to load, and 512 ms to compute.
    assert fleet.choose(prompt(1, 8)) == 0
    slow = ReplicaCost(step=0.01, decode=0.001, token=0.001, load_start=0.001, load_block=0.2)
    fleet.report(fleet.seats[0], cost=slow)
    assert fleet.choose(prompt(1, 8)) == 1


def test_block_in_cpu_memory_costs_its_copy() -> None:
    fleet = Fleet(2)
    copying = ReplicaCost(step=0.01, decode=0.001, token=0.001, copy=0.002)
    fleet.report(fleet.seats[0], gained=Tips(cpu=[1008]), cost=copying)
    assert fleet.choose(prompt(1, 8)) == 0
    fleet.report(fleet.seats[1], gained=Tips(device=[1008]), cost=copying)
    assert fleet.choose(prompt(1, 8)) == 1


def test_charge_counts_until_the_replica_reports_it() -> None:
    fleet = Fleet(2)
    [first] = fleet.router.route(prompt(1, 10))
    busy, idle = (0, 1) if first.seat is fleet.seats[0] else (1, 0)
    first.stream = 4
    assert fleet.choose(prompt(2, 1)) == idle
    # A report that was made before the request arrived changes nothing.
    fleet.report(fleet.seats[busy], seen=4)
    assert fleet.choose(prompt(2, 1)) == idle
    fleet.report(fleet.seats[idle], ReplicaWork(tokens=300))
    fleet.report(fleet.seats[busy], ReplicaWork(tokens=200, prompts=1), seen=5)
    assert fleet.choose(prompt(2, 1)) == busy


def test_reported_answer_counts_no_longer_once_it_has_ended() -> None:
    fleet = Fleet(2)
    [assignment] = fleet.router.route(prompt(1, 1))
    idle = 1 - fleet.seats.index(assignment.seat)
    others = [prompt(salt, 1 + salt % 2) for salt in range(20, 30)]
    assignment.stream = 4
    assignment.started()
    for _ in range(2):
        fleet.report(assignment.seat, ReplicaWork(decodes=1), seen=5)
        assert {fleet.choose(each) for each in others} == {idle}
    assignment.ended(8)
    assert {fleet.choose(each) for each in others} == {0, 1}
    # The next report counts another answer.
    fleet.report(assignment.seat, ReplicaWork(decodes=1), seen=6)
    assert {fleet.choose(each) for each in others} == {idle}


def test_answer_that_starts_after_its_report_is_a_stream() -> None:
    fleet = Fleet(2)
    [assignment] = fleet.router.route(prompt(1, 10))
    assignment.stream = 4
    fleet.report(assignment.seat, ReplicaWork(tokens=0, prompts=1), seen=5)
    assignment.started()
    assert (assignment.seat.prompts, assignment.seat.decodes) == (-1, 1)
    assignment.ended(8)
    assert (assignment.seat.prompts, assignment.seat.decodes) == (-1, 0)


def test_queue_gets_shorter_with_time() -> None:
    fleet = Fleet(2)
    fleet.report(fleet.seats[0], ReplicaWork(tokens=1000))
    fleet.report(fleet.seats[1], ReplicaWork(tokens=100))
    assert fleet.choose(prompt(1, 1)) == 1
    fleet.now += 0.5
    [assignment] = fleet.router.route(prompt(1, 8))
    assert assignment.seat is fleet.seats[1]
    # The queue was empty by then, so that only the new prompt is in it.
    assert fleet.seats[1].free_at == pytest.approx(fleet.now + assignment.seconds)


def test_answers_are_divided_by_the_pace_that_they_get() -> None:
    fleet = Fleet(2)
    assignments = [
        assignment for salt in range(4) for assignment in fleet.router.route(prompt(salt, 1, max_tokens=200))
    ]
    assert sorted(fleet.seats.index(assignment.seat) for assignment in assignments) == [0, 0, 1, 1]
    for assignment in assignments:
        assignment.started()
        assignment.ended(200)
        assert assignment.seat.decodes >= 0
    assert [seat.decodes + seat.prompts for seat in fleet.seats] == [0, 0]


def test_last_replica_decides_differences_below_a_step() -> None:
    fleet = Fleet(2)
    [assignment] = fleet.router.route(prompt(1, 4))
    assignment.stream = 0
    home = fleet.seats.index(assignment.seat)
    fleet.report(fleet.seats[1 - home], gained=Tips(device=[1004]))
    fleet.report(fleet.seats[home], ReplicaWork(tokens=5, prompts=1), seen=1)
    [again] = fleet.router.route(prompt(1, 4))
    assert (fleet.seats.index(again.seat), again.reason) == (home, "last")
    fleet.report(fleet.seats[home], ReplicaWork(tokens=20, prompts=1), seen=9)
    assert fleet.choose(prompt(1, 4)) == 1 - home


def test_epoch_that_ended_is_forgotten() -> None:
    fleet = Fleet(2)
    old = fleet.seats[0]
    fleet.report(old, gained=Tips(device=[1008], cpu=[1009], below=[1009]))
    fleet.router.route(prompt(2, 8))
    fleet.router.leave(old)
    fleet.router.leave(fleet.seats[1])
    assert fleet.router.num_names == 0
    # Reports on their way change nothing, and the row of the old epoch is used again.
    fleet.report(old, gained=Tips(device=[1008]))
    fleet.seats = [Seat(epoch=7)]
    fleet.router.join(fleet.seats[0])
    fleet.router.take(fleet.seats[0], Report(6, 0, ReplicaWork(), COST, gained=Tips(device=[1008])))
    assert fleet.router.num_names == 0
    [assignment] = fleet.router.route(prompt(1, 8))
    assert assignment.reason == "only"
    assert assignment.seconds == pytest.approx((8 * BLOCK + 1) * COST.token)


def test_replica_without_measured_costs_gets_its_share() -> None:
    fleet = Fleet(1)
    slow = ReplicaCost(step=0.1, decode=0.01, token=0.05)
    fleet.report(fleet.seats[0], cost=slow)
    fleet.seats.append(Seat(epoch=1))
    fleet.router.join(fleet.seats[1])
    chosen = [fleet.seats.index(fleet.router.route(prompt(salt, 1))[0].seat) for salt in range(10)]
    assert sorted(chosen) == [0] * 5 + [1] * 5


def test_first_impressions_of_costs_are_shared() -> None:
    fleet = Fleet(3)
    slow = ReplicaCost(step=0.05, decode=0.001, token=0.005, steps=10)
    fleet.report(fleet.seats[0], ReplicaWork(tokens=10), cost=slow)
    fleet.report(fleet.seats[1], ReplicaWork(tokens=500))
    fleet.report(fleet.seats[2], ReplicaWork(tokens=300))
    assert fleet.choose(prompt(1, 3)) == 0
    fleet.report(fleet.seats[0], ReplicaWork(tokens=10), cost=structs.replace(slow, steps=MATURE))
    assert fleet.choose(prompt(1, 3)) == 2


def test_idle_replica_follows_what_others_learn() -> None:
    fleet = Fleet(2)
    for step in (0.2, 0.1, 0.01):
        fleet.report(fleet.seats[0], cost=ReplicaCost(step=step, decode=0.0, token=step / 10))
    assignments = [
        assignment for salt in range(4) for assignment in fleet.router.route(prompt(salt, 1, max_tokens=100))
    ]
    assert sorted(fleet.seats.index(assignment.seat) for assignment in assignments) == [0, 0, 1, 1]


def test_changes_count_once_for_each_gateway() -> None:
    fleet = Fleet(2)
    fleet.report(fleet.seats[0], ReplicaWork(tokens=100))
    fleet.report(fleet.seats[1], ReplicaWork(tokens=1000))
    fleet.router.route(prompt(1, 4))
    assert fleet.choose(prompt(2, 4)) == 0
    for seat, tokens in zip(fleet.seats, (100, 1000), strict=True):
        work = ReplicaWork(tokens=tokens)
        fleet.router.take(seat, Report(seat.epoch, 0, work, COST, gateways=4))
    # Three other gateways sent as much there.
    assert fleet.choose(prompt(2, 4)) == 1


def test_full_batch_waits_for_turns() -> None:
    fleet = Fleet(2, StepLimits(places=2))
    turning = ReplicaCost(step=0.01, decode=0.001, token=0.001, turn=1.0)
    fleet.report(fleet.seats[0], ReplicaWork(decodes=2), cost=turning)
    fleet.report(fleet.seats[1], ReplicaWork(tokens=900), cost=turning)
    assert fleet.choose(prompt(1, 1)) == 1


def test_decision_over_many_replicas_is_fast() -> None:
    """Bound the time loosely: `python -m bench.fleet_sim` measures it."""
    fleet = Fleet(1000)
    for seat in fleet.seats:
        fleet.report(seat, gained=Tips(device=[1008, 5000 + seat.epoch]))
    asked = RoutedPrompt([1000 + at for at in range(1, 129)], 128 * BLOCK + 1)
    began = time.perf_counter()
    for _ in range(100):
        fleet.router.choose(asked)
    assert (time.perf_counter() - began) / 100 < 0.01
