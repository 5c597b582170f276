"""Step costs: per step, per decode and per prompt token, learned from the durations of whole steps."""

import random
from dataclasses import replace

import pytest

from engine.request.scheduler_output import CachedRequestData, SchedulerOutput
from engine.scheduling.step_cost import StepCost


def step(decodes: int, prompt_tokens: int) -> SchedulerOutput:
    counts = {f"d{index}": 1 for index in range(decodes)}
    if prompt_tokens:
        counts["p"] = prompt_tokens
    return SchedulerOutput(step_id=0, num_scheduled_tokens=counts)


def learned(own: float, decode: float, token: float, steps: list[tuple[int, int]], noise: float = 0.0) -> StepCost:
    """Return the costs learned from `steps`, pairs of (decodes, prompt tokens).

    own, decode, token: true seconds per step, per decode and per prompt token. noise: relative error of each duration.
    """
    cost, rng = StepCost(), random.Random(1)
    for decodes, tokens in steps:
        seconds = own + decode * decodes + token * tokens
        cost.note(step(decodes, tokens), seconds * (1 + rng.uniform(-noise, noise)))
    return cost


MIXED = [(0, 160), (1, 0), (1, 0), (1, 40), (4, 20), (8, 0), (8, 30), (16, 10)]


def test_noisy_steps_reveal_each_cost() -> None:
    cost = learned(0.011, 0.0017, 0.0009, MIXED * 20, noise=0.1)
    assert cost.step_seconds == pytest.approx(0.011, rel=0.15)
    assert cost.each_decode_seconds == pytest.approx(0.0017, rel=0.15)
    assert cost.token_seconds == pytest.approx(0.0009, rel=0.15)


@pytest.mark.parametrize(
    ("own", "decode", "token"), [(0.011, 0.0017, 0.0009), (0.008, 1e-6, 1e-5), (0.4, 0.02, 0.02)], ids=str
)
def test_few_steps_suffice_to_predict_durations(own: float, decode: float, token: float) -> None:
    cost = learned(own, decode, token, MIXED)
    for decodes, tokens in [(2, 0), (12, 0), (12, 24), (24, 16)]:
        expected = own + decode * decodes + token * tokens
        assert cost.expected_seconds(step(decodes, tokens)) == pytest.approx(expected, rel=0.2)


def test_identical_steps_do_not_skew_other_costs() -> None:
    cost = learned(0.011, 0.0017, 0.0009, [*MIXED * 10, *[(20, 40)] * 5000], noise=0.1)
    assert cost.step_seconds == pytest.approx(0.011, rel=0.2)
    assert cost.decode_seconds(1) == pytest.approx(0.0127, rel=0.2)


def test_changed_token_cost_is_tracked() -> None:
    cost = learned(0.011, 0.0017, 0.0009, MIXED * 10)
    for _ in range(60):
        # Prompt tokens have become more expensive, as with longer contexts.
        cost.note(step(4, 40), 0.011 + 4 * 0.0017 + 40 * 0.0018)
    assert cost.expected_seconds(step(4, 40)) == pytest.approx(0.0898, rel=0.05)
    assert cost.step_seconds == pytest.approx(0.011, rel=0.1)


def after(context: int, tokens: int) -> SchedulerOutput:
    """Return a step that computes `tokens` tokens of a prompt after its first `context` ones."""
    return replace(step(0, tokens), cached_requests=(CachedRequestData("p", (), context),))


def test_tokens_later_in_a_prompt_are_expected_to_take_longer() -> None:
    def seconds(context: int, tokens: int) -> float:
        return 0.010 + tokens * (0.0001 + 0.0002 * (context + tokens / 2) / 1000)

    cost = StepCost()
    for _ in range(4):
        for context in range(0, 2000, 200):
            for tokens in (200, 20):
                cost.note(after(context, tokens), seconds(context, tokens))
    for context in (0, 1000, 3000):
        assert cost.expected_seconds(after(context, 100)) == pytest.approx(seconds(context, 100), rel=0.05)
        within = cost.prompt_tokens_within(0.030, context)
        assert within is not None
        assert seconds(context, within) - 0.010 == pytest.approx(0.030, rel=0.1)


def test_prompts_alongside_drafts_are_learned_from() -> None:
    cost = StepCost()
    for decodes, tokens, drafted in [(1, 200, 8), (2, 40, 20), (4, 100, 10), (1, 40, 4), (4, 200, 2)] * 8:
        drafts = {"d0": (1,) * drafted}
        counts = {**step(decodes, tokens).num_scheduled_tokens, "d0": 1 + drafted}
        seconds = 0.010 + 0.001 * decodes + 0.0002 * (tokens + drafted)
        cost.note(SchedulerOutput(step_id=0, num_scheduled_tokens=counts, drafts=drafts), seconds)
    assert cost.expected_seconds(step(3, 150)) == pytest.approx(0.043, rel=0.1)


def test_single_outlier_barely_moves_cost() -> None:
    cost = learned(0.010, 0.001, 0.001, MIXED * 10)
    before = cost.decode_seconds(8)
    assert before is not None
    cost.note(step(8, 0), 3 * before)
    assert cost.decode_seconds(8) == pytest.approx(before, rel=0.15)
    for _ in range(300):
        cost.note(step(8, 0), 3 * before)
    assert cost.decode_seconds(8) == pytest.approx(3 * before, rel=0.1), "a lasting change must be learned"


def test_costs_are_none_before_first_measurement() -> None:
    cost = StepCost()
    assert cost.expected_seconds(step(1, 0)) is None
    assert cost.expected_seconds(step(0, 50)) is None
    assert cost.token_seconds is None
    cost.note(step(0, 500), 0.1)
    assert cost.decode_seconds(1) is None
    assert cost.expected_seconds(step(0, 500)) == pytest.approx(0.1, rel=0.05)
    assert cost.expected_seconds(step(1, 500)) is None


def test_expected_time_scales_with_passes() -> None:
    cost = learned(0.010, 0.001, 0.001, MIXED * 10)
    one = cost.expected_seconds(step(8, 0))
    assert one is not None
    assert cost.expected_seconds(replace(step(8, 0), passes=3)) == pytest.approx(3 * one)


def test_uninformative_steps_are_ignored() -> None:
    cost = StepCost()
    cost.note(step(0, 0), 0.1)
    cost.note(step(3, 0), 0.0)
    cost.note(SchedulerOutput(step_id=0, num_scheduled_tokens={"d0": 3, "d1": 1}, drafts={"d0": (1, 2)}), 0.1)
    assert cost.decode_seconds(3) is None
    assert cost.step_seconds == 0
