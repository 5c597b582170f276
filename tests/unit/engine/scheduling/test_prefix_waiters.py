"""Requests that wait while another one computes the prefix they share."""

import pytest

from engine.request.request import Request, RequestStatus
from tests.model.toys import expected_output
from tests.unit.scheduling_rig import BLOCK, VOCAB, Rig

SHARED = [1, 2, 3, 4] * 6


def answer_is_right(request: Request) -> bool:
    return request.output_token_ids == expected_output(request.prompt_token_ids, request.sampling, VOCAB)


def computed(requests: list[Request]) -> list[int]:
    return [request.receipt.computed for request in requests if request.receipt is not None]


def test_concurrent_requests_compute_shared_prefix_once() -> None:
    rig = Rig(max_tokens_per_step=16, pool_blocks=64)
    requests = [rig.add([*SHARED, 10 + number]) for number in range(4)]
    rig.run()
    assert computed(requests) == [len(SHARED) + 1, 1, 1, 1]
    assert all(map(answer_is_right, requests))


def test_request_without_shared_prefix_does_not_wait() -> None:
    rig = Rig(max_tokens_per_step=8, pool_blocks=64)
    leader, follower = rig.add([*SHARED, 10]), rig.add([*SHARED, 11])
    rig.step()
    # The second step has room for other requests.
    rig.step()
    assert (leader.status, follower.status) == (RequestStatus.RUNNING, RequestStatus.WAITING_FOR_PREFIX)
    other = rig.add([7, 8, 9])
    rig.step()
    assert other.output_token_ids
    assert not follower.output_token_ids
    rig.run()


def test_follower_continues_when_leader_aborts() -> None:
    rig = Rig(max_tokens_per_step=8, pool_blocks=64)
    leader, follower = rig.add([*SHARED, 10]), rig.add([*SHARED, 11])
    rig.step()
    rig.scheduler.finish_request(leader.request_id, "abort")
    rig.run()
    # The follower finds the two blocks that the leader had computed on the device.
    assert computed([follower]) == [len(SHARED) + 1 - 2 * BLOCK]
    assert answer_is_right(follower)


def test_released_follower_joins_no_multi_pass_step() -> None:
    rig = Rig(max_tokens_per_step=8, pool_blocks=64, decode_passes=4)
    leader, follower = rig.add([*SHARED, 10]), rig.add([*SHARED, 11])
    rig.step()
    rig.step()
    assert follower.status is RequestStatus.WAITING_FOR_PREFIX
    rig.scheduler.finish_request(leader.request_id, "abort")
    step, _ = rig.step()
    assert (list(step.num_scheduled_tokens), step.passes) == ([follower.request_id], 1)
    rig.run()
    assert answer_is_right(follower)


def test_aborted_follower_leaves_no_blocks_in_use() -> None:
    rig = Rig(max_tokens_per_step=8, pool_blocks=64)
    leader, follower = rig.add([*SHARED, 10]), rig.add([*SHARED, 11])
    rig.step()
    rig.scheduler.finish_request(follower.request_id, "abort")
    rig.run()
    assert answer_is_right(leader)
    assert rig.pool.num_used == 0


def test_follower_keeps_its_queue_timeout() -> None:
    rig = Rig(max_tokens_per_step=8, pool_blocks=64)
    rig.add([*SHARED, 10])
    follower = rig.add([*SHARED, 11], start_by=5.0)
    rig.step()
    rig.now = 6.0
    assert rig.scheduler.take_expired() == [follower]
    rig.run()


def test_follower_keeps_its_place_in_the_queue() -> None:
    rig = Rig(max_tokens_per_step=16, pool_blocks=64, max_num_seqs=2, policy="fair")
    leader = rig.add([*SHARED, 10], max_tokens=40, priority=0)
    follower = rig.add([*SHARED, 11], priority=1)
    rig.step()
    rig.step()
    assert follower.status is RequestStatus.WAITING_FOR_PREFIX
    sooner = rig.add([30] * 9, max_tokens=2, priority=0)
    while not sooner.output_token_ids:
        rig.step()
        assert not follower.output_token_ids
    rig.run()
    assert all(map(answer_is_right, (leader, follower, sooner)))


def test_follower_waits_only_for_the_blocks_it_shares() -> None:
    rig = Rig(max_tokens_per_step=8, pool_blocks=64)
    leader = rig.add([*SHARED, 10], max_tokens=1)
    follower = rig.add([*SHARED[: 2 * BLOCK], 11, 12], max_tokens=1)
    rig.step()
    rig.step()
    # The first step computes two blocks, so the second step holds both requests.
    assert follower.finish_reason == "length"
    assert leader.finish_reason is None
    assert computed([follower]) == [2]
    rig.run()


def steps_to_first_token(rig: Rig, request: Request, *, tenant: str, priority: int = 0, most: int = 40) -> int:
    """Return the steps until `request` has a token, while `tenant` always has three short prompts to compute."""
    for step in range(most):
        short = [r for r in rig.requests if r.tenant == tenant and r.num_prompt_tokens == 12 and not r.finish_reason]
        for number in range(3 - len(short)):
            rig.add([step, number, 41, 42, *[43] * 8], max_tokens=1, tenant=tenant, priority=priority)
        rig.step()
        if request.output_token_ids:
            return step + 1
    return most


@pytest.mark.parametrize("prefix", [SHARED, [7, 8, 9, 6] * 6])
def test_tenant_waits_for_no_prefix_of_a_busy_tenant(prefix: list[int]) -> None:
    rig = Rig(max_tokens_per_step=8, pool_blocks=800, max_num_seqs=8)
    rig.add([30] * 2000, tenant="busy")
    rig.step()
    rig.add([*SHARED, *[20] * 200], tenant="busy")
    rig.step()
    other = rig.add([*prefix, 11], tenant="other")
    assert steps_to_first_token(rig, other, tenant="busy") < 10


def test_urgent_request_waits_for_no_prefix_of_a_lazy_one() -> None:
    rig = Rig(max_tokens_per_step=8, pool_blocks=800, max_num_seqs=8)
    rig.add([30] * 2000)
    rig.step()
    lazy = rig.add([*SHARED, *[20] * 200], priority=5)
    rig.step()
    follower = rig.add([*SHARED, 12], priority=5)
    rig.step()
    urgent = rig.add([*SHARED, 11], priority=-1)
    assert steps_to_first_token(rig, urgent, tenant="local", priority=0) < 10
    # The prefix can be found now. The urgent request computed it.
    rig.step()
    assert follower.status is not RequestStatus.WAITING_FOR_PREFIX
    assert lazy.num_published_blocks < len(SHARED) // BLOCK


def test_leader_is_as_short_as_the_request_that_waits() -> None:
    rig = Rig(max_tokens_per_step=8, pool_blocks=800, max_num_seqs=8)
    rig.add([30] * 2000)
    rig.step()
    leader = rig.add([*SHARED[:8], *[20] * 200])
    rig.step()
    follower = rig.add([*SHARED[:8], 11])
    assert steps_to_first_token(rig, follower, tenant="local") < 10
    assert leader.num_computed_tokens < 50
