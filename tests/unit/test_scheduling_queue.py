"""Whose turn it is, under each policy."""

from collections import Counter
from math import inf

import pytest

from engine.request import Request
from engine.scheduling.queue.fair import FairQueue, share_of_queue
from engine.scheduling.queue.policy import QueuePolicy, make_queue
from engine.scheduling.queue.request_queue import RequestQueue
from tests.unit.scheduling_rig import bare_request

POLICIES: tuple[QueuePolicy, ...] = ("fcfs", "priority", "fair")


def queue_of(policy: QueuePolicy, *, max_waiting: int = 100, max_wait: float = inf) -> RequestQueue:
    return make_queue(policy, max_waiting=max_waiting, max_wait=max_wait, weights={"heavy": 2.0})


def peek(queue: RequestQueue, now: float) -> Request | None:
    """Whose turn it is."""
    return next(iter(queue.candidates(now)), None)


def accepts(queue: RequestQueue, tenant: str) -> bool:
    return queue.accepts(tenant, Counter())


def serve(queue: RequestQueue, now: float, tokens: int = 1) -> Request:
    """The next one has its turn, and so many tokens are computed for it."""
    request = peek(queue, now)
    assert request is not None
    queue.start(request, now)
    request.waited = now - request.wait_began
    queue.charge(request, tokens)
    return request


def orders(queue: RequestQueue, now: float = 0.0, tokens: int = 1) -> list[int]:
    """The numbers of all who wait, in the order in which they are served."""
    return [serve(queue, now, tokens).order for _ in range(len(queue))]


@pytest.mark.parametrize("policy", POLICIES)
def test_one_tenant_with_one_priority_is_served_in_the_order_of_arrival(policy: QueuePolicy) -> None:
    queue = queue_of(policy)
    for order in range(5):
        queue.add(bare_request(order))
    queue.remove(next(r for r in [peek(queue, 0.0)] if r is not None))
    assert orders(queue) == [1, 2, 3, 4]
    assert peek(queue, 0.0) is None


@pytest.mark.parametrize("policy", POLICIES)
def test_who_comes_back_keeps_its_place(policy: QueuePolicy) -> None:
    queue = queue_of(policy)
    for order in range(3):
        queue.add(bare_request(order))
    first, second = serve(queue, 0.0), serve(queue, 0.0)
    queue.add(second)
    queue.add(first)
    assert orders(queue) == [0, 1, 2]


@pytest.mark.parametrize("policy", POLICIES)
def test_a_full_queue_accepts_nobody_but_those_who_come_back(policy: QueuePolicy) -> None:
    queue = queue_of(policy, max_waiting=2)
    for order in range(2):
        assert accepts(queue, "local")
        queue.add(bare_request(order))
    assert not accepts(queue, "local")
    queue.add(bare_request(7))
    assert len(queue) == 3


@pytest.mark.parametrize("policy", ["priority", "fair"])
def test_a_smaller_priority_is_sooner_and_arrival_decides_inside_one(policy: QueuePolicy) -> None:
    queue = queue_of(policy)
    for order, priority in enumerate((0, 5, -1, 0, -1)):
        queue.add(bare_request(order, priority=priority))
    assert orders(queue) == [2, 4, 0, 3, 1]


@pytest.mark.parametrize("policy", ["priority", "fair"])
def test_who_waited_longer_than_the_maximum_is_next_whatever_its_priority(policy: QueuePolicy) -> None:
    queue = queue_of(policy, max_wait=10.0)
    queue.add(bare_request(0, priority=9, arrival=0.0))
    for order in range(1, 4):
        queue.add(bare_request(order, arrival=5.0))
    assert serve(queue, 9.0).order == 1
    assert serve(queue, 10.5).order == 0
    assert orders(queue, 11.0) == [2, 3]


def test_when_all_are_overdue_every_second_turn_still_goes_by_priority() -> None:
    queue = queue_of("priority", max_wait=10.0)
    for order in range(4):
        queue.add(bare_request(order, priority=5))
    for order in range(4, 8):
        queue.add(bare_request(order, priority=0))
    assert orders(queue, 100.0) == [0, 4, 1, 5, 2, 6, 3, 7]


def test_who_was_overdue_is_worth_more_than_any_priority_afterwards() -> None:
    queue = queue_of("priority", max_wait=10.0)
    queue.add(bare_request(0, priority=9))
    patient = serve(queue, 11.0)
    assert queue.level(patient) < queue.level(bare_request(1, priority=-1000))


def test_fairly_a_priority_is_worth_nothing_against_others() -> None:
    queue = queue_of("fair")
    queue.add(bare_request(0, tenant="loud", priority=-1000))
    queue.add(bare_request(1, tenant="quiet", priority=1000))
    assert queue.level(bare_request(2, priority=-9)) == queue.level(bare_request(3, priority=9))
    assert orders(queue, tokens=10) == [0, 1]


def test_fairly_a_flood_of_one_tenant_does_not_hold_up_another() -> None:
    queue = queue_of("fair")
    for order in range(50):
        queue.add(bare_request(order, tenant="flood"))
    serve(queue, 0.0, tokens=10)
    queue.add(bare_request(50, tenant="calm"))
    served = [serve(queue, 0.0, tokens=10).tenant for _ in range(3)]
    assert "calm" in served[:2]


def test_fairly_turns_follow_tokens_and_weights_and_not_the_number_of_requests() -> None:
    queue = queue_of("fair")
    for order in range(60):
        queue.add(bare_request(order, tenant="heavy" if order % 2 else "light"))
    tokens = {"heavy": 0, "light": 0}
    for _ in range(30):
        request = peek(queue, 0.0)
        assert request is not None
        # The light one's requests are four times as long.
        size = 10 if request.tenant == "heavy" else 40
        tokens[serve(queue, 0.0, size).tenant] += size
    assert tokens["heavy"] == pytest.approx(2 * tokens["light"], abs=80)


def test_fairly_idleness_earns_no_credit() -> None:
    queue = queue_of("fair")
    for order in range(20):
        queue.add(bare_request(order, tenant="busy"))
    for _ in range(10):
        serve(queue, 0.0, tokens=100)
    for order in range(20, 40):
        queue.add(bare_request(order, tenant="late"))
    served = [serve(queue, 0.0, tokens=100).tenant for _ in range(10)]
    assert served.count("late") in (5, 6)


def test_fairly_who_comes_when_nobody_waits_owes_as_much_as_who_is_being_served() -> None:
    queue = queue_of("fair")
    queue.add(bare_request(0, tenant="running"))
    serve(queue, 0.0, tokens=1000)
    for order in range(1, 5):
        queue.add(bare_request(order, tenant="new"))
        queue.add(bare_request(10 + order, tenant="running"))
    assert {serve(queue, 0.0, tokens=100).tenant for _ in range(2)} == {"new", "running"}


def test_fairly_a_tenant_without_a_turn_for_too_long_is_next_whatever_it_owes() -> None:
    queue = queue_of("fair", max_wait=10.0)
    for order in range(3):
        queue.add(bare_request(order, tenant="owes"))
        queue.add(bare_request(10 + order, tenant="calm"))
    assert serve(queue, 0.0, tokens=10_000).tenant == "owes"
    assert serve(queue, 1.0).tenant == "calm"
    assert serve(queue, 9.0).tenant == "calm"
    assert serve(queue, 10.5).tenant == "owes"
    assert serve(queue, 11.0).tenant == "calm"


def test_fairly_a_tenant_that_floods_the_queue_is_not_overdue_with_all_that_it_sent() -> None:
    queue = queue_of("fair", max_wait=10.0)
    for order in range(50):
        queue.add(bare_request(order, tenant="flood"))
    for _ in range(10):
        serve(queue, 0.0, tokens=10)
    queue.add(bare_request(50, tenant="calm", arrival=100.0))
    served = [serve(queue, 100.0, tokens=10).tenant for _ in range(3)]
    assert "calm" in served


def test_fairly_one_tenant_may_have_the_whole_queue_until_others_come() -> None:
    queue = queue_of("fair", max_waiting=6)
    for order in range(6):
        assert accepts(queue, "first")
        queue.add(bare_request(order, tenant="first"))
    assert not accepts(queue, "first")
    for order in range(6, 9):
        assert accepts(queue, "second")
        queue.add(bare_request(order, tenant="second"))
    assert not accepts(queue, "second")
    assert accepts(queue, "heavy")


def test_fairly_no_number_of_tenants_makes_the_queue_longer_than_twice_its_length() -> None:
    queue = queue_of("fair", max_waiting=4)
    for order in range(100):
        tenant = f"t{order}"
        if accepts(queue, tenant):
            queue.add(bare_request(order, tenant=tenant))
    assert len(queue) == 8


@pytest.mark.parametrize(
    ("weight", "active", "share"), [(1.0, 1.0, 10), (1.0, 2.0, 5), (2.0, 3.0, 7), (1.0, 1000.0, 1), (0.5, 1.5, 4)]
)
def test_a_share_of_the_queue_goes_by_weight_and_is_never_nothing(weight: float, active: float, share: int) -> None:
    assert share_of_queue(10, weight, active) == share


def test_fairly_an_aborted_request_leaves_no_line_behind() -> None:
    queue = FairQueue(10, inf, {})
    request = bare_request(0, tenant="gone")
    queue.add(request)
    queue.remove(request)
    assert peek(queue, 0.0) is None
    assert len(queue) == 0
    assert all(accepts(queue, "other") for _ in range(2))
