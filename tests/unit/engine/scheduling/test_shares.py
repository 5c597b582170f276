"""Fair shares: tenants share batch slots, blocks and the tokens of each step. Waits are counted in steps."""

from dataclasses import replace

import pytest

from engine.request.request import Request, RequestStatus
from engine.request.scheduler_output import SchedulerOutput
from engine.scheduling.step_share import Claim, divide
from engine.scheduling.step_time import RECENT_SECONDS
from tests.model.toys import expected_output
from tests.unit.scheduling_rig import VOCAB, Rig


def prompt(number: int, length: int) -> list[int]:
    """Return a prompt of `length` tokens. Different numbers yield different first tokens."""
    return [(number * 7 + at * at) % VOCAB for at in range(length)]


def steps_to_first_token(rig: Rig, request: Request, most: int = 200) -> int:
    """Run until `request` has its first token. Return the number of steps, including the one that emits the token."""
    for steps in range(1, most + 1):
        rig.step()
        if request.output_token_ids:
            return steps
    raise AssertionError(f"no token within {most} steps")


def test_short_turn_during_prompt_flood_takes_one_step() -> None:
    rig = Rig(pool_blocks=2000, max_num_seqs=32, max_tokens_per_step=64)
    for number in range(16):
        rig.add(prompt(number, 295), max_tokens=1, tenant="flood")
    for _ in range(3):
        rig.step()
    turn = rig.add(prompt(99, 10), tenant="calm")
    assert steps_to_first_token(rig, turn) == 1


def test_flood_gets_whole_steps_while_others_are_idle() -> None:
    rig = Rig(pool_blocks=2000, max_num_seqs=32, max_tokens_per_step=64)
    for number in range(16):
        rig.add(prompt(number, 295), max_tokens=1, tenant="flood")
    assert [rig.step()[0].total_tokens for _ in range(5)] == [64] * 5


def test_steps_stay_short_while_other_tenant_is_recent() -> None:
    rig = Rig(pool_blocks=2000, max_num_seqs=32, max_tokens_per_step=512)
    for _ in range(20):
        rig.scheduler.step_time.cost.note(SchedulerOutput(step_id=0, num_scheduled_tokens={"d": 1}), 0.005)
        rig.scheduler.step_time.cost.note(SchedulerOutput(step_id=0, num_scheduled_tokens={"d": 1, "p": 100}), 0.055)
    visitor = rig.add(prompt(99, 4), max_tokens=1, tenant="calm")
    steps_to_first_token(rig, visitor)
    flood = [rig.add(prompt(number, 900), max_tokens=1, tenant="flood") for number in range(4)]
    assert rig.step()[0].total_tokens == pytest.approx(40, abs=1)
    # The other tenant is no longer recent, so the flood gets whole steps.
    rig.now += RECENT_SECONDS + 1
    flood.append(rig.add(prompt(5, 900), max_tokens=1, tenant="flood"))
    assert rig.step()[0].total_tokens == 512


def test_turn_preempts_one_answer_when_batch_is_full() -> None:
    rig = Rig(pool_blocks=2000, max_num_seqs=32, max_tokens_per_step=64)
    for number in range(32):
        rig.add(prompt(number, 8), max_tokens=400, tenant="crowd")
    for _ in range(12):
        rig.step()
    assert rig.scheduler.num_running == 32
    turn = rig.add(prompt(99, 10), tenant="calm")
    assert steps_to_first_token(rig, turn) == 1
    assert rig.scheduler.num_preemptions == 1


def test_turn_gets_blocks_when_memory_is_full() -> None:
    rig = Rig(pool_blocks=91, max_num_seqs=32, max_tokens_per_step=64, max_waiting=256)
    for number in range(50):
        rig.add(prompt(number, 8), max_tokens=90, tenant="crowd")
    while not rig.scheduler.num_preemptions:
        rig.step()
    assert rig.scheduler.num_waiting
    turn = rig.add(prompt(99, 10), tenant="calm")
    assert steps_to_first_token(rig, turn) <= 2
    while turn.finish_reason is None:
        assert turn.status is not RequestStatus.PREEMPTED
        rig.step()


def test_second_crowd_gets_half_of_slots_and_keeps_them() -> None:
    rig = Rig(pool_blocks=2000, max_num_seqs=16, max_tokens_per_step=64)
    for tenant in ("first", "second"):
        for number in range(24):
            rig.add(prompt(number, 8), max_tokens=40, tenant=tenant)
        for _ in range(8):
            rig.step()
    running = [r.tenant for r in rig.requests if r.status is RequestStatus.RUNNING]
    assert running.count("first") == running.count("second") == 8
    assert rig.scheduler.num_preemptions == 8
    rig.run()
    # A few preemptions may follow when the tenants finish unevenly, but they do not preempt each other back and forth.
    assert rig.scheduler.num_preemptions <= 12
    assert all(r.output_token_ids == expected_output(r.prompt_token_ids, r.sampling, VOCAB) for r in rig.requests)


def test_growing_answers_share_blocks_without_thrashing() -> None:
    rig = Rig(pool_blocks=80, max_num_seqs=16, max_tokens_per_step=64)
    for number in range(8):
        for tenant in ("first", "second"):
            rig.add(prompt(number, 8), max_tokens=60, tenant=tenant)
    rig.run()
    # Sixteen requests each grow to 17 blocks in a pool of 80: preempted once or twice each, not at every new block.
    assert rig.scheduler.num_preemptions <= 2 * len(rig.requests)


def test_preempted_requests_do_not_overtake_other_tenant() -> None:
    rig = Rig(pool_blocks=2000, max_num_seqs=2, max_tokens_per_step=64)
    for number in range(2):
        rig.add(prompt(number, 8), max_tokens=60, tenant="first")
    rig.step()
    turns = [rig.add(prompt(50 + number, 8), max_tokens=3, tenant="second") for number in range(2)]
    while not all(turn.finish_reason for turn in turns):
        rig.step()
        assert sum(r.status is RequestStatus.RUNNING for r in rig.requests if r.tenant == "first") >= 1
    assert rig.scheduler.num_preemptions <= 2
    rig.run()


def test_long_prompt_progresses_among_short_ones() -> None:
    rig = Rig(pool_blocks=2000, max_num_seqs=32, max_tokens_per_step=16)
    long = rig.add(prompt(0, 160), max_tokens=1)
    for number in range(200):
        if long.finish_reason is not None:
            break
        rig.add(prompt(1 + number, 15), max_tokens=1)
        rig.step()
    # Half of each step is reserved for the oldest prompt.
    assert number <= 21
    rig.run()


def test_short_prompt_overtakes_long_ones_of_its_tenant() -> None:
    rig = Rig(pool_blocks=2000, max_num_seqs=32, max_tokens_per_step=32)
    for number in range(4):
        rig.add(prompt(number, 200), max_tokens=1)
    rig.step()
    assert steps_to_first_token(rig, rig.add(prompt(99, 12), max_tokens=1)) == 1


def test_followers_hold_no_batch_slot() -> None:
    rig = Rig(pool_blocks=2000, max_num_seqs=4, max_tokens_per_step=16)
    beginning = prompt(0, 400)
    for number in range(8):
        rig.add([*beginning, number], max_tokens=1, tenant="many")
    rig.step()
    assert rig.scheduler.num_waiting_for_prefix == 7
    assert steps_to_first_token(rig, rig.add(prompt(99, 6), max_tokens=1, tenant="idle")) <= 2


def test_followers_count_toward_waiting_limit() -> None:
    rig = Rig(pool_blocks=2000, max_num_seqs=4, max_tokens_per_step=16, max_waiting=8)
    beginning = prompt(0, 400)
    for number in range(8):
        rig.add([*beginning, number], max_tokens=1)
    rig.step()
    assert rig.scheduler.num_waiting_for_prefix == 7
    rig.add(prompt(1, 4))
    with pytest.raises(Exception, match="already waiting"):
        rig.add(prompt(2, 4))


def test_blocked_request_matches_prefix_only_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig(pool_blocks=40, max_num_seqs=4, max_tokens_per_step=16)
    rig.add(prompt(0, 8), max_tokens=100)
    rig.step()
    matched, match_prefix = list[Request](), rig.blocks.match_prefix

    def count(request: Request) -> int:
        matched.append(request)
        return match_prefix(request)

    monkeypatch.setattr(rig.blocks, "match_prefix", count)
    waiting = rig.add(prompt(1, 150), max_tokens=1)
    for _ in range(30):
        rig.step()
    assert matched == [waiting]
    rig.run()
    assert waiting.finish_reason == "length"


def test_answers_that_have_begun_delay_a_short_new_prompt() -> None:
    rig = Rig(pool_blocks=64, max_tokens_per_step=8)
    begun = [rig.add(prompt(seed, 40), produced=(5,)) for seed in range(2)]
    new = rig.add(prompt(2, 6))
    while not all(request.num_pending_tokens == 1 for request in begun):
        assert not new.num_computed_tokens
        rig.step()
    rig.run()
    assert new.finish_reason == "length"


BEGUN = (("old", 300), ("mid", 200))
"""Names and pending tokens of prompts whose answers have begun."""


def claim(name: str, tokens: int, *, tenant: str = "", left: int = 0, urgency: float = 0.0, order: int = 0) -> Claim:
    return Claim(
        request_id=name, tenant=tenant, tokens=tokens, context=0, left=left or tokens, urgency=urgency, order=order
    )


def test_divide_gives_half_to_oldest_and_rest_to_shortest() -> None:
    claims = [claim("old", 300, order=0), claim("mid", 200, order=1), claim("short", 20, order=2)]
    assert divide(100, claims, lambda _: 1.0) == {"old": 50, "mid": 30, "short": 20}


def test_divide_prefers_urgency_over_length() -> None:
    claims = [claim("old", 300, order=0), claim("urgent", 200, urgency=-1, order=1), claim("short", 20, order=2)]
    assert divide(100, claims, lambda _: 1.0) == {"old": 50, "urgent": 50}


def test_divide_prefers_answers_that_have_begun_to_new_prompts() -> None:
    begun = [replace(claim(name, tokens, order=order), has_begun=True) for order, (name, tokens) in enumerate(BEGUN)]
    claims = [*begun, claim("short", 20, order=3)]
    assert divide(100, claims, lambda _: 1.0) == {"old": 50, "mid": 50}
    assert divide(100, claims[1:], lambda _: 1.0) == {"mid": 100}


def test_divide_serves_oldest_when_tokens_run_short() -> None:
    claims = [claim(str(order), 9, tenant=str(order), order=order) for order in range(5)]
    assert divide(3, claims, lambda _: 1.0) == {"0": 1, "1": 1, "2": 1}
