"""Shares of tenants in a step."""

from collections import Counter

import pytest

from engine.request.request import Request
from engine.scheduling.step_cost import StepCost
from engine.scheduling.step_share import Bursts, DecodeTurns, decodes_of_tenants
from tests.unit.engine.scheduling.test_shares import prompt, steps_to_first_token
from tests.unit.engine.scheduling.test_step_cost import MIXED, learned
from tests.unit.scheduling_rig import Rig, bare_request


def test_returning_tenant_goes_first_for_two_steps() -> None:
    bursts = Bursts()
    for _ in range(5):
        assert bursts.first(["flood"]) == {"flood"}
    assert [bursts.first(["flood", "calm"]) for _ in range(3)] == [{"calm"}, {"calm"}, {"flood", "calm"}]


def test_idle_tenant_earns_burst_steps_back() -> None:
    bursts = Bursts()
    for _ in range(3):
        bursts.first(["flood", "calm"])
    assert not bursts.ahead(["calm"])
    bursts.first(["flood"])
    bursts.first(["flood"])
    assert bursts.ahead(["calm"])
    assert bursts.first(["flood", "calm"]) == {"calm"}
    assert bursts.first(["flood", "calm"]) == {"flood", "calm"}


def test_concurrent_newcomers_share_burst() -> None:
    assert Bursts().first(["a", "b"]) == {"a", "b"}


def test_stream_of_newcomers_does_not_starve_steady_tenant() -> None:
    bursts, had = Bursts(), Counter[str]()
    for number in range(300):
        had.update(bursts.first(["flood", f"visitor {number}"]))
    assert had["flood"] >= 100


def test_short_turn_gets_whole_steps_during_flood() -> None:
    rig = Rig(pool_blocks=2000, max_num_seqs=32, max_tokens_per_step=16)
    flood = [rig.add(prompt(number, 295), max_tokens=1, tenant="flood") for number in range(8)]
    for _ in range(4):
        rig.step()
    turn = rig.add(prompt(99, 30), tenant="calm")
    assert steps_to_first_token(rig, turn) == 2, "equal shares would take four steps"
    rig.run()
    assert all(request.output_token_ids for request in flood)


STEP = 0.050


@pytest.fixture
def cost() -> StepCost:
    """Return costs of 10 ms per step, 2 ms per decode and 1 ms per prompt token."""
    return learned(0.010, 0.002, 0.001, MIXED * 20)


def equal(tenant: str) -> float:
    return 1.0


def test_few_answers_all_decode(cost: StepCost) -> None:
    assert decodes_of_tenants(cost, STEP, {"a": 4, "b": 8}, {}, equal) == {"a": 4, "b": 8}


def test_tenant_with_many_answers_cannot_crowd_out_other(cost: StepCost) -> None:
    rooms = decodes_of_tenants(cost, STEP, {"calm": 4, "hostile": 30}, {}, equal)
    assert rooms["calm"] == 4
    assert rooms["hostile"] == pytest.approx(16, abs=1), "the hostile tenant gets the rest of the step"
    rooms = decodes_of_tenants(cost, STEP, {"calm": 4, "hostile": 30}, {"hostile": 5000}, equal)
    assert rooms["calm"] == 4
    assert rooms["hostile"] == pytest.approx(8, abs=1), "half of the tenant's share is for its prompts"


def test_tenant_with_only_prompts_gets_its_share(cost: StepCost) -> None:
    rooms = decodes_of_tenants(cost, STEP, {"hostile": 30}, {"calm": 400}, equal)
    assert rooms["hostile"] == pytest.approx(10, abs=1)
    rooms = decodes_of_tenants(cost, STEP, {"hostile": 30}, {"calm": 400}, {"hostile": 1.0, "calm": 3.0}.__getitem__)
    assert rooms["hostile"] == pytest.approx(5, abs=1)


def test_each_tenant_decodes_at_least_one_token(cost: StepCost) -> None:
    tenants = {f"t{number}": 2 for number in range(40)}
    assert set(decodes_of_tenants(cost, STEP, tenants, {}, equal).values()) == {1}


def test_free_or_unmeasured_answers_all_decode() -> None:
    assert decodes_of_tenants(StepCost(), STEP, {"a": 400}, {"b": 10}, equal) == {"a": 400}
    flat = learned(0.010, 0.0, 1e-5, MIXED * 5)
    assert decodes_of_tenants(flat, STEP, {"a": 400, "b": 1}, {}, equal) == {"a": 400, "b": 1}


def test_answers_of_one_tenant_take_turns() -> None:
    turns, went = DecodeTurns(), Counter[str]()
    requests = [bare_request(number, tenant="a" if number < 2 else "b") for number in range(9)]
    for _ in range(14):
        chosen = turns.choose(requests, {"a": 2, "b": 2}, _tenant_of)
        assert [request.order for request in chosen] == sorted(request.order for request in chosen)
        went.update(request.request_id for request in chosen)
    assert [went[request.request_id] for request in requests] == [14, 14, *[4] * 7]


def test_answer_that_waited_longest_decodes_first() -> None:
    turns = DecodeTurns()
    first, second, third = (bare_request(number, tenant="a") for number in range(3))
    assert turns.choose([first, second], {"a": 1}, _tenant_of) == [first]
    assert turns.choose([first, second, third], {"a": 1}, _tenant_of) == [second]
    assert turns.choose([first, third], {"a": 1}, _tenant_of) == [third]
    assert turns.choose([first, third], {"a": 2}, _tenant_of) == [first, third]


def test_shared_steps_stay_in_time_and_all_answers_finish() -> None:
    rig = Rig(pool_blocks=2000, max_num_seqs=40, max_tokens_per_step=512)
    rig.scheduler.step_time.cost = learned(0.010, 0.002, 0.001, MIXED * 20)
    calm = [rig.add([number, 1], max_tokens=12, tenant="calm") for number in range(2)]
    hostile = [rig.add([number, 2], max_tokens=12, tenant="hostile") for number in range(30)]
    while rig.scheduler.has_unfinished_requests():
        output, _ = rig.step()
        decodes = [name for name, count in output.num_scheduled_tokens.items() if count == 1]
        if output.total_tokens == len(decodes) == len(output.cached_requests):
            assert 0.010 + 0.002 * len(decodes) <= STEP * 1.1
    assert all(len(request.output_token_ids) == 12 for request in (*calm, *hostile))


def test_single_tenant_decodes_all_answers_in_each_step() -> None:
    rig = Rig(pool_blocks=2000, max_num_seqs=40, max_tokens_per_step=512)
    rig.scheduler.step_time.cost = learned(0.010, 0.002, 0.001, MIXED * 20)
    for number in range(36):
        rig.add([number, 2], max_tokens=30)
    for _ in range(12):
        output, _ = rig.step()
    assert output.total_tokens == 36


def _tenant_of(request: Request) -> str:
    return request.tenant
