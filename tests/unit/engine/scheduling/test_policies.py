"""A scheduler with its queue: preemption, shares of tenants, and deadlines."""

import pytest

from engine.api.errors import OverloadedError
from engine.request.request import RequestStatus
from engine.scheduling.queue.policy import QueuePolicy
from tests.leaks import assert_no_leaks
from tests.model.toy_store import ToyStore
from tests.model.toys import expected_output
from tests.unit.scheduling_rig import VOCAB, Rig


def test_highest_ranked_request_is_never_preempted() -> None:
    rig = Rig(pool_blocks=6, max_tokens_per_step=64)
    first, second = (rig.add(range(start, start + 8), max_tokens=12) for start in (0, 20))
    while rig.scheduler.has_unfinished_requests():
        rig.step()
        assert first.status in (RequestStatus.RUNNING, RequestStatus.FINISHED)
    assert second.finish_reason == "length"


def test_less_urgent_request_is_preempted_despite_arriving_first() -> None:
    rig = Rig(pool_blocks=6, max_tokens_per_step=64, policy="priority")
    calm = rig.add(range(8), max_tokens=12, priority=5)
    rig.step()
    urgent = rig.add(range(20, 28), max_tokens=12, priority=0)
    while urgent.finish_reason is None:
        rig.step()
        assert urgent.status is not RequestStatus.PREEMPTED
    assert calm.finish_reason is None
    assert rig.scheduler.num_preemptions > 0
    rig.run()
    assert calm.output_token_ids == expected_output(calm.prompt_token_ids, calm.sampling, VOCAB)


@pytest.mark.parametrize("policy", ["fcfs", "fair", "priority"])
def test_answer_of_another_process_is_continued_first(policy: QueuePolicy) -> None:
    rig = Rig(pool_blocks=64, max_tokens_per_step=8, max_num_seqs=2, policy=policy)
    rig.add(range(8), max_tokens=20)
    rig.step()
    waiting = [rig.add(range(start, start + 8), max_tokens=20) for start in (10, 20)]
    first, second = (rig.add(range(start, start + 8), max_tokens=6, produced=[1, 2]) for start in (30, 40))
    while second.finish_reason is None:
        rig.step()
        assert all(request.status is RequestStatus.WAITING for request in waiting)
    # The first one began before the second.
    assert first.finish_reason is not None


def test_longer_request_is_preempted_if_it_loses_less() -> None:
    rig = Rig(pool_blocks=5, max_tokens_per_step=64, store=ToyStore(capacity=32))
    first = rig.add(range(2), max_tokens=12)
    kept = rig.add(range(20, 28), max_tokens=10)
    rig.step()
    lost = rig.add(range(40, 42), max_tokens=10)
    for _ in range(3):
        rig.step()
    # Two blocks of `kept` are in a lower tier: it loses one of nine tokens, while `lost` would lose all three.
    assert kept.status is RequestStatus.PREEMPTED
    assert lost.status is RequestStatus.RUNNING
    rig.run()
    for request in (first, kept, lost):
        assert request.output_token_ids == expected_output(request.prompt_token_ids, request.sampling, VOCAB)


def test_prompts_that_fit_in_turn_are_not_started_together() -> None:
    rig = Rig(pool_blocks=8, max_tokens_per_step=8)
    requests = [rig.add(range(start, start + 24), max_tokens=1) for start in (0, 24)]
    rig.run()
    assert rig.scheduler.num_preemptions == 0
    assert all(request.finish_reason == "length" for request in requests)


def test_fair_policy_divides_tokens_by_tenant_weight() -> None:
    rig = Rig(max_num_seqs=2, max_tokens_per_step=16, pool_blocks=64, max_waiting=1000, weights={"heavy": 3.0})
    for start in range(40):
        rig.add([start % 50, 1, 2, 3], max_tokens=6, tenant="heavy")
        rig.add([start % 50, 4] * 4, max_tokens=3, tenant="light")
    tenants = {request.request_id: request.tenant for request in rig.requests}
    tokens = {"heavy": 0, "light": 0}
    for _ in range(80):
        output, _ = rig.step()
        for request_id, count in output.num_scheduled_tokens.items():
            tokens[tenants[request_id]] += count
        # The bound is what both slots may compute beyond their turn, divided by the weight.
        assert abs(tokens["heavy"] / 3 - tokens["light"]) <= 2 * (11 + 10)
    assert tokens["light"] > 0


def test_long_prompt_does_not_delay_short_one_of_other_tenant() -> None:
    rig = Rig(max_tokens_per_step=8, pool_blocks=64)
    rig.add(range(48), max_tokens=1, tenant="long")
    rig.step()
    rig.add(range(30, 48), max_tokens=1, tenant="long")
    short = rig.add([1, 2, 3], max_tokens=1, tenant="short")
    output, _ = rig.step()
    assert output.num_scheduled_tokens[short.request_id] == 3


def test_deadline_ends_waiting_request_before_it_starts() -> None:
    rig = Rig(max_num_seqs=1)
    rig.add(range(4), max_tokens=8)
    late = rig.add(range(4, 8), deadline=5.0)
    rig.step()
    assert rig.scheduler.seconds_to_deadline() == 5.0
    rig.now = 5.0
    rig.step()
    assert rig.scheduler.take_expired() == [late]
    assert (late.finish_reason, late.started) == ("timeout", None)
    rig.run()


def test_deadline_ends_running_request_and_keeps_its_tokens() -> None:
    rig = Rig()
    request = rig.add(range(4), max_tokens=10, deadline=5.0)
    rig.step()
    in_flight = rig.begin()
    rig.now = 6.0
    assert rig.scheduler.take_expired() == [request]
    assert rig.scheduler.update(*in_flight) == []
    assert len(request.output_token_ids) == 1
    rig.run()
    assert rig.pool.num_used == 0


def test_deadline_during_load_keeps_blocks_until_copies_end() -> None:
    store = ToyStore(capacity=32)
    rig = Rig(max_tokens_per_step=64, store=store)
    rig.add(range(17), max_tokens=1)
    rig.run()
    restarted = Rig(max_tokens_per_step=64, store=ToyStore(capacity=32, redis=store.redis))
    request = restarted.add(range(17), max_tokens=1, deadline=0.5)
    output, result = restarted.begin()
    assert output.loads
    restarted.now = 0.6
    assert restarted.scheduler.take_expired() == [request]
    assert restarted.pool.num_used > 0
    restarted.scheduler.update(output, result)
    restarted.scheduler.schedule()
    assert restarted.pool.num_used == 0
    assert_no_leaks(restarted.scheduler)


def test_queue_timeout_ends_only_requests_not_started() -> None:
    rig = Rig(max_num_seqs=1)
    served = rig.add(range(4), max_tokens=8, start_by=3.0)
    waiting = rig.add(range(4, 8), start_by=3.0)
    rig.step()
    rig.now = 4.0
    assert rig.scheduler.take_expired() == [waiting]
    assert waiting.finish_reason == "queue_timeout"
    rig.run()
    assert served.finish_reason == "length"


def test_rejection_states_retry_time_at_current_pace() -> None:
    rig = Rig(max_num_seqs=1, max_waiting=8)
    for start in range(8):
        rig.add([start], max_tokens=2)
    for _ in range(6):
        rig.step()
        rig.now += 2.0
    while rig.scheduler.num_waiting < 8:
        rig.add([7], max_tokens=2)
    with pytest.raises(OverloadedError) as refused:
        rig.add([7], max_tokens=2)
    # Eight requests wait, and one of them is admitted every two steps of 2 s.
    assert refused.value.retry_after == 16
