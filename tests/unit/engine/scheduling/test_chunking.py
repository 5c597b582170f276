import pytest

from engine.request.scheduler_output import CachedRequestData, SchedulerOutput
from engine.scheduling.chunking import SMALLEST_CHUNK, prompt_tokens_alongside
from engine.scheduling.step_cost import StepCost
from tests.unit.engine.scheduling.test_step_cost import MIXED, learned


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
