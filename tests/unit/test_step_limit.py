"""When ranks that do not answer are taken for hung: by how long steps took, and never by how long nothing was asked."""

from engine.executor.step_limit import LEAST_SECONDS, TIMES_SLOWEST, StepLimit


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_step_has_the_least_time_until_slower_ones_were_seen() -> None:
    clock = Clock()
    limit = StepLimit(clock)
    limit.sent()
    assert limit.passes_at() == clock.now + LEAST_SECONDS
    clock.now += 40.0
    limit.ended()
    assert limit.seconds == TIMES_SLOWEST * 40.0
    limit.sent()
    clock.now += 0.1
    limit.ended()
    assert limit.seconds == TIMES_SLOWEST * 40.0


def test_a_step_that_waits_behind_another_begins_when_that_one_ends() -> None:
    clock = Clock()
    limit = StepLimit(clock)
    limit.sent()
    limit.sent()
    clock.now += 30.0
    limit.ended()
    assert limit.passes_at() == clock.now + TIMES_SLOWEST * 30.0
    clock.now += 30.0
    limit.ended()
    assert limit.seconds == TIMES_SLOWEST * 30.0, "not the time in the queue too"


def test_nobody_is_late_while_nothing_is_under_way() -> None:
    clock = Clock()
    limit = StepLimit(clock)
    limit.sent()
    limit.ended()
    clock.now += 10 * LEAST_SECONDS
    asleep_until = limit.passes_at()
    assert asleep_until == clock.now + LEAST_SECONDS
    clock.now += 1.0
    limit.sent()
    assert limit.passes_at() > asleep_until
