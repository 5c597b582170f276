"""When the next step is prepared, and when a step counts as hung."""

import pytest

from engine.executor.step_timing import LEAST_SECONDS, TIMES_SLOWEST, StepLimit, StepTiming, time_to_prepare
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


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_step_limit_is_the_minimum_until_slower_steps() -> None:
    clock = Clock()
    limit = StepLimit(clock)
    limit.on_sent()
    assert limit.passes_at() == clock.now + LEAST_SECONDS
    clock.now += 40.0
    limit.on_ended()
    assert limit.seconds == TIMES_SLOWEST * 40.0
    limit.on_sent()
    clock.now += 0.1
    limit.on_ended()
    assert limit.seconds == TIMES_SLOWEST * 40.0


def test_limit_of_queued_step_starts_when_the_one_before_ends() -> None:
    clock = Clock()
    limit = StepLimit(clock)
    limit.on_sent()
    limit.on_sent()
    clock.now += 30.0
    limit.on_ended()
    assert limit.passes_at() == clock.now + TIMES_SLOWEST * 30.0
    clock.now += 30.0
    limit.on_ended()
    assert limit.seconds == TIMES_SLOWEST * 30.0, "the time in the queue must not count"


def test_idle_ranks_are_never_late() -> None:
    clock = Clock()
    limit = StepLimit(clock)
    limit.on_sent()
    limit.on_ended()
    clock.now += 10 * LEAST_SECONDS
    asleep_until = limit.passes_at()
    assert asleep_until == clock.now + LEAST_SECONDS
    clock.now += 1.0
    limit.on_sent()
    assert limit.passes_at() > asleep_until
