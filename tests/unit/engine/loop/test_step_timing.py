import pytest

from engine.loop.step_timing import StepTiming, time_to_prepare
from engine.request.scheduler_output import SchedulerOutput


def step(**counts: int) -> SchedulerOutput:
    return SchedulerOutput(step_id=0, num_scheduled_tokens=counts)


def test_step_like_the_last_is_expected_to_take_as_long() -> None:
    pace = StepTiming()
    assert pace.expected_seconds(step(a=1)) is None
    pace.note(step(a=1, b=1), 0.02)
    assert pace.expected_seconds(step(a=1)) is None
    assert pace.expected_seconds(step(a=2)) is None
    assert pace.expected_seconds(step(c=1, d=1)) == 0.02


@pytest.mark.parametrize("seconds", [0.005, 0.01, 0.02, 0.2])
def test_next_step_is_prepared_shortly_before_the_current_ends(seconds: float) -> None:
    lead_ms = round(1e3 * (seconds - time_to_prepare(seconds)), 6)
    assert 4 <= lead_ms <= 12


def test_next_step_is_prepared_at_once_after_short_step() -> None:
    assert time_to_prepare(0.001) == 0.0
