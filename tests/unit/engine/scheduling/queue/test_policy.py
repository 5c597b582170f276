"""The order of the queue under each policy."""

from collections import Counter
from math import inf

import pytest

from engine.request.request import Request
from engine.scheduling.queue.fair import FairQueue, share_of_queue
from engine.scheduling.queue.policy import QueuePolicy, make_queue
from engine.scheduling.queue.request_queue import RequestQueue
from tests.unit.scheduling_rig import bare_request

POLICIES: tuple[QueuePolicy, ...] = ("fcfs", "priority", "fair")


def queue_of(policy: QueuePolicy, *, max_waiting: int = 100, max_wait: float = inf) -> RequestQueue:
    return make_queue(policy, max_waiting=max_waiting, max_wait=max_wait, weights={"heavy": 2.0})


def peek(queue: RequestQueue, now: float) -> Request | None:
    """Return the next request without removing it."""
    return next(iter(queue.candidates(now)), None)


def accepts(queue: RequestQueue, tenant: str) -> bool:
    return queue.accepts(tenant, Counter())


def serve(queue: RequestQueue, now: float, tokens: int = 1) -> Request:
    """Start the next request and charge it for `tokens` computed tokens."""
    request = peek(queue, now)
    assert request is not None
    queue.start(request, now)
    request.waited = now - request.wait_began
    queue.charge(request, tokens)
    return request


def orders(queue: RequestQueue, now: float = 0.0, tokens: int = 1) -> list[int]:
    """Serve all waiting requests, and return their numbers in that order."""
    return [serve(queue, now, tokens).order for _ in range(len(queue))]


@pytest.mark.parametrize("policy", POLICIES)
def test_equal_requests_are_served_in_order_of_arrival(policy: QueuePolicy) -> None:
    queue = queue_of(policy)
    for order in range(5):
        queue.add(bare_request(order))
    queue.remove(next(r for r in [peek(queue, 0.0)] if r is not None))
    assert orders(queue) == [1, 2, 3, 4]
    assert peek(queue, 0.0) is None


@pytest.mark.parametrize("policy", POLICIES)
def test_requeued_request_keeps_its_place(policy: QueuePolicy) -> None:
    queue = queue_of(policy)
    for order in range(3):
        queue.add(bare_request(order))
    first, second = serve(queue, 0.0), serve(queue, 0.0)
    queue.add(second)
    queue.add(first)
    assert orders(queue) == [0, 1, 2]


@pytest.mark.parametrize("policy", POLICIES)
def test_full_queue_accepts_only_requeued_requests(policy: QueuePolicy) -> None:
    queue = queue_of(policy, max_waiting=2)
    for order in range(2):
        assert accepts(queue, "local")
        queue.add(bare_request(order))
    assert not accepts(queue, "local")
    queue.add(bare_request(7))
    assert len(queue) == 3


@pytest.mark.parametrize("policy", ["priority", "fair"])
def test_smaller_priority_is_first_and_then_arrival_decides(policy: QueuePolicy) -> None:
    queue = queue_of(policy)
    for order, priority in enumerate((0, 5, -1, 0, -1)):
        queue.add(bare_request(order, priority=priority))
    assert orders(queue) == [2, 4, 0, 3, 1]


@pytest.mark.parametrize("policy", ["priority", "fair"])
def test_overdue_request_is_next_at_any_priority(policy: QueuePolicy) -> None:
    queue = queue_of(policy, max_wait=10.0)
    queue.add(bare_request(0, priority=9, arrival=0.0))
    for order in range(1, 4):
        queue.add(bare_request(order, arrival=5.0))
    assert serve(queue, 9.0).order == 1
    assert serve(queue, 10.5).order == 0
    assert orders(queue, 11.0) == [2, 3]


def test_overdue_requests_take_only_every_second_turn() -> None:
    queue = queue_of("priority", max_wait=10.0)
    for order in range(4):
        queue.add(bare_request(order, priority=5))
    for order in range(4, 8):
        queue.add(bare_request(order, priority=0))
    assert orders(queue, 100.0) == [0, 4, 1, 5, 2, 6, 3, 7]


def test_overdue_request_outranks_any_priority_afterwards() -> None:
    queue = queue_of("priority", max_wait=10.0)
    queue.add(bare_request(0, priority=9))
    patient = serve(queue, 11.0)
    assert queue.level(patient) < queue.level(bare_request(1, priority=-1000))


def test_fair_policy_ignores_priority_between_tenants() -> None:
    queue = queue_of("fair")
    queue.add(bare_request(0, tenant="loud", priority=-1000))
    queue.add(bare_request(1, tenant="quiet", priority=1000))
    assert queue.level(bare_request(2, priority=-9)) == queue.level(bare_request(3, priority=9))
    assert orders(queue, tokens=10) == [0, 1]


def test_fair_policy_serves_another_tenant_during_a_flood() -> None:
    queue = queue_of("fair")
    for order in range(50):
        queue.add(bare_request(order, tenant="flood"))
    serve(queue, 0.0, tokens=10)
    queue.add(bare_request(50, tenant="calm"))
    served = [serve(queue, 0.0, tokens=10).tenant for _ in range(3)]
    assert "calm" in served[:2]


def test_fair_turns_follow_tokens_and_weights() -> None:
    queue = queue_of("fair")
    for order in range(60):
        queue.add(bare_request(order, tenant="heavy" if order % 2 else "light"))
    tokens = {"heavy": 0, "light": 0}
    for _ in range(30):
        request = peek(queue, 0.0)
        assert request is not None
        # Requests of the light tenant are four times as long.
        size = 10 if request.tenant == "heavy" else 40
        tokens[serve(queue, 0.0, size).tenant] += size
    assert tokens["heavy"] == pytest.approx(2 * tokens["light"], abs=80)


def test_fair_policy_gives_no_credit_for_idle_time() -> None:
    queue = queue_of("fair")
    for order in range(20):
        queue.add(bare_request(order, tenant="busy"))
    for _ in range(10):
        serve(queue, 0.0, tokens=100)
    for order in range(20, 40):
        queue.add(bare_request(order, tenant="late"))
    served = [serve(queue, 0.0, tokens=100).tenant for _ in range(10)]
    assert served.count("late") in (5, 6)


def test_fair_policy_charges_newcomer_like_running_tenant() -> None:
    queue = queue_of("fair")
    queue.add(bare_request(0, tenant="running"))
    serve(queue, 0.0, tokens=1000)
    for order in range(1, 5):
        queue.add(bare_request(order, tenant="new"))
        queue.add(bare_request(10 + order, tenant="running"))
    assert {serve(queue, 0.0, tokens=100).tenant for _ in range(2)} == {"new", "running"}


def test_fair_policy_serves_overdue_tenant_despite_its_debt() -> None:
    queue = queue_of("fair", max_wait=10.0)
    for order in range(3):
        queue.add(bare_request(order, tenant="owes"))
        queue.add(bare_request(10 + order, tenant="calm"))
    assert serve(queue, 0.0, tokens=10_000).tenant == "owes"
    assert serve(queue, 1.0).tenant == "calm"
    assert serve(queue, 9.0).tenant == "calm"
    assert serve(queue, 10.5).tenant == "owes"
    assert serve(queue, 11.0).tenant == "calm"


def test_flooding_tenant_is_not_overdue_with_all_its_requests() -> None:
    queue = queue_of("fair", max_wait=10.0)
    for order in range(50):
        queue.add(bare_request(order, tenant="flood"))
    for _ in range(10):
        serve(queue, 0.0, tokens=10)
    queue.add(bare_request(50, tenant="calm", arrival=100.0))
    served = [serve(queue, 100.0, tokens=10).tenant for _ in range(3)]
    assert "calm" in served


def test_one_tenant_may_fill_the_queue_until_others_come() -> None:
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


def test_fair_queue_never_exceeds_twice_its_length() -> None:
    queue = queue_of("fair", max_waiting=4)
    for order in range(100):
        tenant = f"t{order}"
        if accepts(queue, tenant):
            queue.add(bare_request(order, tenant=tenant))
    assert len(queue) == 8


@pytest.mark.parametrize(
    ("weight", "active", "share"), [(1.0, 1.0, 10), (1.0, 2.0, 5), (2.0, 3.0, 7), (1.0, 1000.0, 1), (0.5, 1.5, 4)]
)
def test_share_of_queue_follows_weight_and_is_at_least_one(weight: float, active: float, share: int) -> None:
    assert share_of_queue(10, weight, active) == share


def test_removed_request_leaves_no_tenant_queue_behind() -> None:
    queue = FairQueue(10, inf, {})
    request = bare_request(0, tenant="gone")
    queue.add(request)
    queue.remove(request)
    assert peek(queue, 0.0) is None
    assert len(queue) == 0
    assert all(accepts(queue, "other") for _ in range(2))


def test_tenants_that_are_gone_are_forgotten() -> None:
    queue = FairQueue(100, inf, {})
    for order in range(5000):
        queue.add(bare_request(order, tenant=f"tenant-{order}"))
        serve(queue, 0.0, tokens=10)
        if order % 10 == 0:
            queue.add(bare_request(10_000 + order, tenant=f"tenant-{order}"))
            serve(queue, 0.0, tokens=10)
    assert len(queue._accounts) < 200
