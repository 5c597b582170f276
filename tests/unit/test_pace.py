from engine.pace import StepPace
from engine.scheduling.output import SchedulerOutput


def step(**counts: int) -> SchedulerOutput:
    return SchedulerOutput(0, num_scheduled_tokens=counts)


def test_nothing_is_prepared_ahead_of_a_step_of_unknown_length() -> None:
    pace = StepPace()
    assert pace.time_to_prepare(step(a=1)) is None
    pace.note(step(a=1, b=1), 0.02)
    assert pace.time_to_prepare(step(a=1)) is None
    assert pace.time_to_prepare(step(a=2)) is None


def test_the_next_step_is_prepared_while_one_like_the_last_still_runs() -> None:
    pace = StepPace()
    pace.note(step(a=1, b=1), 0.02)
    delay = pace.time_to_prepare(step(c=1, d=1))
    assert delay is not None
    assert 0 < delay <= 0.02 - 0.004


def test_a_step_shorter_than_the_preparation_is_followed_at_once() -> None:
    pace = StepPace()
    pace.note(step(a=1), 0.001)
    assert pace.time_to_prepare(step(a=1)) == 0.0
