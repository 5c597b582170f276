"""Step time: unlimited for a single tenant, bounded and shared while several tenants are active."""

import pytest

from engine.scheduling.queue.policy import make_queue
from engine.scheduling.step_share import Claim
from engine.scheduling.step_time import RECENT_SECONDS, SHARED_STEP_SECONDS, StepTime
from tests.unit.engine.scheduling.test_step_cost import MIXED, after, learned
from tests.unit.scheduling_rig import bare_request

ALICE, BOB = bare_request(0, tenant="alice"), bare_request(1, tenant="bob")


def step_time(own: float = 0.010, decode: float = 0.002, token: float = 0.001, target: float = 0.0) -> StepTime:
    found = StepTime(make_queue("fair", max_waiting=10, max_wait=30.0, weights={}), target)
    found.cost = learned(own, decode, token, MIXED * 20)
    return found


def test_single_tenant_has_no_shared_step_time() -> None:
    time = step_time()
    time.on_arrival(ALICE, 0.0)
    assert time.shared_seconds([ALICE], 0.0) is None
    many = [bare_request(number, tenant="alice") for number in range(40)]
    assert time.choose_decodes(many, [], None) == many
    assert time.prompt_tokens(40, None, 512) == pytest.approx(90, abs=2), "twice the time of the tenant's answers"


def test_step_is_longer_while_an_answer_that_has_begun_waits() -> None:
    time, begun = step_time(), bare_request(2, tenant="alice", prompt_tokens=500)
    assert time.prompt_tokens(5, None, 512, [begun]) == pytest.approx(30, abs=2), "50 ms"
    begun.output_token_ids = [7]
    assert time.prompt_tokens(5, None, 512, [begun]) == pytest.approx(180, abs=5), "200 ms"
    assert step_time(target=0.05).prompt_tokens(5, None, 512, [begun]) == pytest.approx(30, abs=2), "as it was set"


def test_steps_stay_shared_while_other_tenant_is_recent() -> None:
    time = step_time()
    assert time.shared_seconds([ALICE, BOB], 0.0) == SHARED_STEP_SECONDS
    time.on_arrival(ALICE, 0.0)
    time.on_arrival(BOB, 0.0)
    assert time.shared_seconds([ALICE], RECENT_SECONDS - 1) == SHARED_STEP_SECONDS
    assert time.shared_seconds([ALICE], RECENT_SECONDS + 1) is None


def test_shared_step_stays_within_its_time() -> None:
    time = step_time(0.005, 0.001, 0.0005)
    many = [bare_request(number, tenant="alice") for number in range(40)]
    asked = bare_request(41, tenant="bob", prompt_tokens=60)
    seconds = time.shared_seconds([*many, BOB, asked], 0.0)
    chosen = time.choose_decodes([*many, BOB], [asked], seconds)
    tokens = time.prompt_tokens(len(chosen), seconds, 512)
    assert BOB in chosen
    assert 0.005 + 0.001 * len(chosen) + 0.0005 * tokens == pytest.approx(SHARED_STEP_SECONDS, rel=0.1)


def test_decodes_of_others_leave_room_for_a_returning_tenant() -> None:
    time = step_time(0.005, 0.001, 0.0005)
    many = [bare_request(number, tenant="alice") for number in range(40)]
    asked = bare_request(41, tenant="bob", prompt_tokens=4)
    counts = []
    for _ in range(6):
        counts.append(len(time.choose_decodes(many, [asked], SHARED_STEP_SECONDS)))
        claims = [
            Claim(request_id="long", tenant="alice", tokens=9, context=0, left=9, urgency=0.0, order=1),
            Claim(request_id="short", tenant="bob", tokens=4, context=0, left=4, urgency=0.0, order=2),
        ]
        time.divide_prompts(claims, 9, 1, SHARED_STEP_SECONDS)
    # Two steps belong to the tenants that were idle, and the third is shared.
    assert counts[0] == counts[1] < counts[2] / 2


def test_prompts_late_in_their_text_get_fewer_tokens() -> None:
    time = step_time(0.005, 0.001, 0.0001)
    for context in [0, 1000, 2000] * 20:
        time.cost.note(after(context, 20), 0.005 + 20 * (0.0001 + 0.0002 * context / 1000))
    early, late = (
        time.divide_prompts(
            [Claim(request_id="a", tenant="alice", tokens=500, context=context, left=500, urgency=0.0, order=1)],
            150,
            0,
            SHARED_STEP_SECONDS,
        )["a"]
        for context in (0, 4000)
    )
    assert early == 150
    assert late * (0.0001 + 0.0002 * 4) == pytest.approx(SHARED_STEP_SECONDS - 0.006, rel=0.2)


def test_slow_model_gets_longer_shared_steps() -> None:
    assert step_time(0.400, 0.020, 0.010).shared_seconds([ALICE, BOB], 0.0) == pytest.approx(0.8, rel=0.1)
    assert step_time(target=0.2).shared_seconds([ALICE, BOB], 0.0) == 0.2
