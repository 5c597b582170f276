"""Bursts: a tenant that returns gets a few steps for its prompts alone, at a bounded cost to the other tenants."""

from collections import Counter

from engine.scheduling.bursts import Bursts
from tests.unit.engine.scheduling.test_shares import prompt, steps_to_first_token
from tests.unit.scheduling_rig import Rig


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
