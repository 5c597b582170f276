"""The time after which silent ranks count as hung: it depends on the duration of steps, never on idle time."""

from engine.executor.step_limit import LEAST_SECONDS, TIMES_SLOWEST, StepLimit


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
