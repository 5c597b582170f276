"""Drafts, which are computed after the known tokens and change only the number of steps."""

from dataclasses import replace

import pytest

from engine.api.sampling_params import SamplingParams
from engine.request.request import Request
from engine.request.scheduler_output import SchedulerOutput
from engine.scheduling.results import TokenUpdate
from tests.leaks import assert_no_leaks
from tests.model.toy_store import ToyStore
from tests.model.toys import HalfRight, expected_output
from tests.unit.engine.scheduling.test_masks import add_masked, is_alternating
from tests.unit.scheduling_rig import BLOCK, VOCAB, Rig

ALL_RIGHT = 1 << 30


def guessing(period: int = 4, **more: object) -> Rig:
    """Build a rig that knows the duration of a step, and whose proposer gets one token in `period` wrong."""
    rig = Rig(proposer=HalfRight(VOCAB, period), **{"max_tokens_per_step": 64, "pool_blocks": 64, **more})  # type: ignore[arg-type]
    rig.scheduler.step_time.cost.note(SchedulerOutput(step_id=0, num_scheduled_tokens={"any": 1}), 0.01)
    return rig


def is_alone(request: Request) -> bool:
    return request.output_token_ids == expected_output(request.prompt_token_ids, request.sampling, VOCAB)


def test_drafts_keep_the_answer_and_save_steps() -> None:
    rig = guessing()
    request = rig.add([1, 2, 3], 40)
    steps = 0
    while rig.scheduler.has_unfinished_requests():
        rig.step()
        steps += 1
    assert is_alone(request)
    assert steps < 15
    assert rig.scheduler.accepted.total() == 40 - steps
    assert rig.scheduler.drafted.total() > rig.scheduler.accepted.total()


def test_step_with_draft_is_awaited_with_its_request() -> None:
    rig = guessing()
    other = rig.add([9], 12)
    other.sampling = replace(other.sampling, repetition_penalty=2.0)
    rig.add([1, 2], 30)
    assert not rig.step()[0].is_awaited
    drafted, result = rig.begin()
    assert drafted.is_awaited
    assert list(drafted.drafts) == ["r1"]
    assert drafted.num_scheduled_tokens == {"r0": 1, "r1": 1 + len(drafted.drafts["r1"])}
    ahead, ahead_result = rig.begin()
    assert set(ahead.num_scheduled_tokens) == {"r0"}
    rig.scheduler.update(drafted, result)
    rig.scheduler.update(ahead, ahead_result)
    rig.run()
    assert all(is_alone(request) for request in rig.requests)


def test_draft_can_follow_a_token_not_known_yet() -> None:
    rig = guessing(ALL_RIGHT)
    request = rig.add([1, 2, 3], 30)
    first = rig.begin()
    behind = rig.begin()
    assert not request.output_token_ids
    rig.scheduler.update(*first)
    updates = rig.scheduler.update(*behind)
    assert len(updates) == 1 + len(behind[0].drafts["r0"]) > 4
    rig.run()
    assert is_alone(request)


def test_drafts_and_prompt_chunks_share_a_step() -> None:
    rig = guessing(max_tokens_per_step=24)
    early = rig.add([1, 2], 50)
    rig.step()
    late = rig.add(list(range(40)), 4)
    mixed = 0
    while rig.scheduler.has_unfinished_requests():
        output = rig.step()[0]
        mixed += bool(output.drafts) and max(output.num_scheduled_tokens.values()) > BLOCK and len(output.drafts) == 1
        assert output.total_tokens <= 24
    assert mixed
    assert is_alone(early)
    assert is_alone(late)


def ended_with(rig: Rig, request: Request) -> list[TokenUpdate]:
    updates: list[TokenUpdate] = []
    while rig.scheduler.has_unfinished_requests():
        updates = [update for update in rig.step()[1] if update.request is request]
    return updates


def test_tokens_after_stop_within_draft_are_discarded() -> None:
    whole = expected_output([1, 2, 3], SamplingParams(temperature=0.0, max_tokens=30, seed=0), VOCAB)
    rig = guessing(ALL_RIGHT)
    end = next(token for at, token in enumerate(whole) if at > 6 and token not in whole[:at])
    request = rig.add([1, 2, 3], 30, stop_token_ids=(end,))
    updates = ended_with(rig, request)
    assert request.output_token_ids == whole[: whole.index(end) + 1]
    assert [update.finish_reason for update in updates] == [None] * (len(updates) - 1) + ["stop"]
    assert request.num_confirmed_tokens == request.num_tokens - 1
    assert_no_leaks(rig.scheduler)


def test_draft_never_exceeds_max_tokens() -> None:
    rig = guessing(ALL_RIGHT)
    request = rig.add([1, 2, 3], 17)
    updates = ended_with(rig, request)
    assert len(request.output_token_ids) == 17
    assert updates[-1].finish_reason == "length"


def test_rejected_tokens_are_in_no_published_block() -> None:
    rig = guessing(3, store=ToyStore(capacity=40))
    for first in (1, 2, 3):
        rig.add([first, 2, 3], 33)
    rig.run()
    assert rig.scheduler.drafted.total() > 2 * rig.scheduler.accepted.total() > 0
    for request in list(rig.requests):
        text = [*request.prompt_token_ids, *request.output_token_ids]
        again = rig.add([*text, 7], 1)
        rig.run()
        assert again.receipt is not None
        assert again.receipt.reused["device"] == len(text) - 1
        assert is_alone(request)
        assert is_alone(again)
    assert rig.store is not None
    keys = {key: request for request in rig.requests for key in request.block_keys}
    checked = 0
    for key, offset in rig.store.ready.items():
        if key in keys:
            at = keys[key].block_keys.index(key) * BLOCK
            assert rig.store.host[offset] == list(keys[key].token_ids(at, at + BLOCK))
            checked += 1
    assert checked > 10


def test_draft_never_preempts_a_request() -> None:
    rig = guessing(pool_blocks=6)
    requests = [rig.add([first, 2, 3], 9) for first in (1, 9)]
    rig.run()
    assert rig.scheduler.num_preemptions == 0
    assert all(is_alone(request) for request in requests)


def test_drafts_survive_preemptions() -> None:
    rig = guessing(pool_blocks=6)
    requests = [rig.add([first, 2, 3, 4, 5, 6], 10) for first in (1, 9)]
    rig.run()
    assert rig.scheduler.num_preemptions > 0
    assert rig.scheduler.accepted.total() > 0
    assert all(is_alone(request) for request in requests)


def test_drafts_of_lost_step_are_discarded() -> None:
    rig = guessing(ALL_RIGHT)
    request = rig.add([1, 2, 3], 30)
    rig.step()
    lost, _ = rig.begin()
    assert lost.drafts
    rig.scheduler.lose_step(lost)
    rig.scheduler.lose_device()
    rig.worker.requests.clear()
    rig.worker.device.clear()
    rig.run()
    assert is_alone(request)


@pytest.mark.parametrize("more", [{"logprobs": 0}, {"frequency_penalty": 0.5}, {"bad_word_ids": ((1, 2),)}])
def test_request_that_needs_prior_tokens_gets_no_draft(more: dict[str, object]) -> None:
    rig = guessing()
    request = rig.add([1, 2, 3], 20)
    request.sampling = replace(request.sampling, **more)  # type: ignore[arg-type]
    rig.run()
    assert rig.scheduler.drafted.total() == 0


def test_masked_request_gets_no_draft_among_others_with_drafts() -> None:
    rig = guessing()
    masked, _ = add_masked(rig, [3, 4], 20)
    free = rig.add([1, 2], 20)
    rig.run()
    assert rig.scheduler.accepted.total() > 0
    assert is_alternating(masked)
    assert is_alone(free)


def test_step_with_draft_has_one_pass_and_others_several() -> None:
    rig = guessing(decode_passes=4)
    assert isinstance(rig.proposer, HalfRight)
    request = rig.add([1, 2, 3], 60)
    rig.proposer.is_silent = True
    passes = [rig.step()[0].passes for _ in range(6)]
    assert passes[-1] == 4
    rig.proposer.is_silent = False
    output = rig.step()[0]
    assert (output.passes, bool(output.drafts)) == (1, True)
    rig.run()
    assert is_alone(request)
