from dataclasses import replace

import pytest

from engine.scheduling.chunking import (
    SMALLEST_CHUNK,
    StepCost,
    prompt_tokens_beside,
)
from engine.scheduling.output import SchedulerOutput


def step(decodes: int, prompt_tokens: int) -> SchedulerOutput:
    counts = {f"d{index}": 1 for index in range(decodes)}
    if prompt_tokens:
        counts["p"] = prompt_tokens
    return SchedulerOutput(0, num_scheduled_tokens=counts)


@pytest.fixture
def cost() -> StepCost:
    """10 ms of decodes, 0.1 ms per prompt token."""
    learned = StepCost()
    for _ in range(5):
        learned.note(step(8, 0), 0.010)
        learned.note(step(8, 100), 0.020)
    return learned


def test_costs_are_learned_from_steps(cost: StepCost) -> None:
    assert cost.decode_seconds(8) == pytest.approx(0.010)
    assert cost.token_seconds == pytest.approx(0.0001)


def test_a_prompt_alone_teaches_its_whole_cost() -> None:
    cost = StepCost()
    cost.note(step(0, 500), 0.1)
    assert cost.token_seconds == pytest.approx(0.0002)
    assert cost.decode_seconds(1) is None


def test_a_disturbed_step_lengthens_no_chunk(cost: StepCost) -> None:
    before = prompt_tokens_beside(cost, 8, 0.0, 512)
    for _ in range(5):
        cost.note(step(8, 100), 0.030)
        cost.note(step(8, 0), 0.015)
    assert prompt_tokens_beside(cost, 8, 0.0, 512) < before


def test_streams_whose_steps_stay_longer_are_believed_in_the_end(cost: StepCost) -> None:
    for _ in range(100):
        cost.note(step(8, 0), 0.015)
    assert cost.decode_seconds(8) == pytest.approx(0.015, rel=0.01)
    cost.note(step(8, 0), 0.010)
    assert cost.decode_seconds(8) == pytest.approx(0.014, rel=0.01)


def test_many_streams_cost_what_many_cost(cost: StepCost) -> None:
    cost.note(step(32, 0), 0.025)
    assert cost.decode_seconds(8) == pytest.approx(0.010)
    assert cost.decode_seconds(33) == 0.025
    assert cost.decode_seconds(1) == pytest.approx(0.010)
    assert cost.decode_seconds(100) == 0.025


def test_a_step_is_expected_to_take_what_its_parts_cost(cost: StepCost) -> None:
    assert cost.expected_seconds(step(8, 0)) == pytest.approx(0.010)
    assert cost.expected_seconds(replace(step(8, 0), passes=3)) == pytest.approx(0.030)
    assert cost.expected_seconds(step(8, 50)) == pytest.approx(0.015)
    # A step without answers reads the weights as well.
    assert cost.expected_seconds(step(0, 50)) == pytest.approx(0.015)
    assert StepCost().expected_seconds(step(1, 0)) is None
    assert StepCost().expected_seconds(step(0, 50)) is None


def test_a_chunk_keeps_the_step_within_the_target(cost: StepCost) -> None:
    assert prompt_tokens_beside(cost, 8, 0.035, 512) == pytest.approx(250, abs=1)


def test_default_step_is_50_ms_or_twice_its_decodes(cost: StepCost) -> None:
    assert prompt_tokens_beside(cost, 8, 0.0, 512) == pytest.approx(400, abs=1)
    for _ in range(200):
        cost.note(step(8, 0), 0.040)
    assert prompt_tokens_beside(cost, 8, 0.0, 1024) == pytest.approx(400, abs=2)


def test_a_target_that_cannot_be_kept_lets_prompts_creep_on(cost: StepCost) -> None:
    assert prompt_tokens_beside(cost, 8, 0.001, 512) == SMALLEST_CHUNK


def test_there_is_never_more_than_room(cost: StepCost) -> None:
    assert prompt_tokens_beside(cost, 0, 0.001, 512) == 512
    assert prompt_tokens_beside(cost, 8, 10.0, 64) == 64
    assert prompt_tokens_beside(StepCost(), 8, 0.001, 64) == 64
