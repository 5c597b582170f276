"""Number of passes and prompt tokens of a step."""

import pytest

from engine.request.scheduler_output import CachedRequestData, SchedulerOutput
from engine.scheduling.step_cost import StepCost
from engine.scheduling.step_size import (
    FIRST_TOKENS,
    SMALLEST_CHUNK,
    passes_of_step,
    passes_within,
    prompt_tokens_alongside,
)
from tests.unit.engine.scheduling.test_step_cost import MIXED, learned
from tests.unit.scheduling_rig import Rig


@pytest.mark.parametrize(
    ("pass_seconds", "passes"), [(0.0, 4), (0.007, 4), (0.0125, 4), (0.017, 2), (0.03, 1), (0.3, 1), (None, 1)]
)
def test_passes_fit_longest_step_and_are_one_until_known(pass_seconds: float | None, passes: int) -> None:
    assert passes_within(4, pass_seconds, 0.05) == passes


def knowing(rig: Rig, pass_seconds: float = 1e-9) -> Rig:
    """Teach the rig's scheduler the duration of a pass."""
    rig.scheduler.step_time.cost.note(SchedulerOutput(step_id=0, num_scheduled_tokens={"any": 1}), pass_seconds)
    return rig


def test_slow_model_makes_one_pass_per_step() -> None:
    rig = knowing(Rig(decode_passes=4), 0.3)
    rig.add([1, 2, 3], max_tokens=9)
    rig.step()
    assert rig.step()[0].passes == 1


def answers_alone(prompts: list[list[int]], max_tokens: int) -> list[list[int]]:
    answers = []
    for prompt in prompts:
        rig = Rig()
        request = rig.add(prompt, max_tokens)
        rig.run()
        answers.append(request.output_token_ids)
    return answers


def begin(rig: Rig) -> None:
    """Run the steps of the first tokens, which have one pass each."""
    for _ in range(FIRST_TOKENS):
        assert rig.step()[0].passes == 1


def test_multi_pass_steps_follow_first_tokens_and_change_none() -> None:
    prompts = [[1, 2, 3], [4, 5, 6]]
    rig = knowing(Rig(decode_passes=4))
    requests = [rig.add(prompt, max_tokens=9) for prompt in prompts]
    assert [rig.step()[0].passes for _ in range(4)] == [1, 1, 1, 1]
    output, updates = rig.step()
    assert output.passes == 4
    assert [update.request.request_id for update in updates] == ["r0"] * 4 + ["r1"] * 4
    rig.run()
    assert [request.output_token_ids for request in requests] == answers_alone(prompts, 9)


def test_step_makes_no_more_tokens_than_a_stream_needs() -> None:
    rig = knowing(Rig(decode_passes=4))
    rig.add([1, 2, 3], max_tokens=6)
    rig.add([4, 5, 6], max_tokens=12)
    begin(rig)
    assert [rig.step()[0].passes for _ in range(3)] == [2, 4, 2]


def test_new_stream_reduces_all_streams_to_one_pass() -> None:
    rig = knowing(Rig(decode_passes=4))
    rig.add([1, 2, 3], max_tokens=30)
    begin(rig)
    rig.add([4, 5, 6], max_tokens=30)
    assert [rig.step()[0].passes for _ in range(5)] == [1, 1, 1, 1, 4]


def test_waiting_or_running_prompt_reduces_steps_to_one_pass() -> None:
    rig = knowing(Rig(decode_passes=4, max_tokens_per_step=4))
    rig.add([1, 2, 3], max_tokens=30)
    begin(rig)
    assert rig.step()[0].passes == 4
    rig.add([5] * 6, max_tokens=1)
    assert [rig.step()[0].passes for _ in range(2)] == [1, 1]
    assert rig.step()[0].passes == 4


def test_restored_request_is_sent_with_one_pass() -> None:
    """Take a request as one that lost its place and came back with all blocks but that of its last token."""
    rig = knowing(Rig(decode_passes=4))
    request = rig.add([1, 2, 3], max_tokens=30)
    begin(rig)
    assert passes_of_step(4, [request], rig.blocks) == 4
    request.known_to_worker = False
    assert passes_of_step(4, [request], rig.blocks) == 1


def test_step_without_blocks_for_all_passes_has_one() -> None:
    rig = knowing(Rig(decode_passes=4, pool_blocks=3))
    rig.add([1, 2, 3], max_tokens=8)
    begin(rig)
    assert rig.step()[0].passes == 4
    crowded = knowing(Rig(decode_passes=4, pool_blocks=4))
    crowded.add([1, 2, 3], max_tokens=8)
    crowded.add([4, 5, 6], max_tokens=8)
    begin(crowded)
    assert crowded.step()[0].passes == 1
    crowded.run()


def test_tokens_after_stop_token_are_discarded() -> None:
    [tokens] = answers_alone([[1, 2, 3]], 9)
    rig = knowing(Rig(decode_passes=4))
    request = rig.add([1, 2, 3], max_tokens=9, stop_token_ids=(tokens[2],))
    rig.run()
    assert request.output_token_ids == tokens[:3]
    assert request.finish_reason == "stop"


@pytest.fixture
def cost() -> StepCost:
    """2 ms of each step, 1 ms per decode, 0.1 ms per prompt token."""
    return learned(0.002, 0.001, 0.0001, [*MIXED, (8, 100), (8, 200)] * 20)


def test_a_chunk_keeps_the_step_within_the_target(cost: StepCost) -> None:
    assert prompt_tokens_alongside(cost, 8, 0.035, 512) == pytest.approx(250, rel=0.05)


def test_a_chunk_is_shorter_later_in_a_prompt() -> None:
    cost = StepCost()
    for context in [*range(0, 2000, 200)] * 4:
        for decodes, tokens in [(0, 200), (8, 200), (8, 20)]:
            counts = {**{f"d{index}": 1 for index in range(decodes)}, "p": tokens}
            seconds = 0.002 + 0.001 * decodes + tokens * (0.0001 + 0.0002 * (context + tokens / 2) / 1000)
            after = (CachedRequestData("p", (), context),)
            cost.note(SchedulerOutput(step_id=0, num_scheduled_tokens=counts, cached_requests=after), seconds)
    assert prompt_tokens_alongside(cost, 8, 0.030, 512, 0) == pytest.approx(170, rel=0.15)
    assert prompt_tokens_alongside(cost, 8, 0.030, 512, 2000) == pytest.approx(39, rel=0.15)


def test_default_step_is_50_ms_or_twice_its_decodes(cost: StepCost) -> None:
    assert prompt_tokens_alongside(cost, 8, 0.0, 1024) == pytest.approx(400, rel=0.05)
    assert prompt_tokens_alongside(cost, 38, 0.0, 1024) == pytest.approx(400, rel=0.05)


def test_a_target_that_cannot_be_kept_lets_prompts_creep_on(cost: StepCost) -> None:
    assert prompt_tokens_alongside(cost, 8, 0.001, 512) == SMALLEST_CHUNK


def test_there_is_never_more_than_room(cost: StepCost) -> None:
    assert prompt_tokens_alongside(cost, 0, 0.001, 512) == 512
    assert prompt_tokens_alongside(cost, 8, 10.0, 64) == 64
    assert prompt_tokens_alongside(StepCost(), 8, 0.001, 64) == 64
