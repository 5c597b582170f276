"""How much a tenant used in the last minute."""

import pytest

from app.token_bucket import TokenBucket


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_what_a_minute_allows_is_there_at_once_and_comes_back_evenly() -> None:
    clock = Clock()
    bucket = TokenBucket(clock)
    for _ in range(6):
        assert bucket.seconds_until(1, 6) == 0
        bucket.add(1)
    assert bucket.seconds_until(1, 6) == pytest.approx(10)
    clock.now = 10
    assert bucket.seconds_until(1, 6) == 0
    assert bucket.seconds_until(2, 6) == pytest.approx(10)


def test_idleness_earns_no_more_than_a_minute() -> None:
    clock = Clock()
    bucket = TokenBucket(clock)
    clock.now = 1e6
    assert bucket.seconds_until(60, 60) == 0
    bucket.add(60)
    assert bucket.seconds_until(1, 60) == pytest.approx(1)


def test_more_than_a_minute_allows_fits_into_an_empty_one_and_is_owed() -> None:
    clock = Clock()
    bucket = TokenBucket(clock)
    assert bucket.seconds_until(500, 100) == 0
    bucket.add(500)
    assert bucket.seconds_until(1, 100) == pytest.approx(240.6)


def test_the_limit_may_change_and_may_be_nothing() -> None:
    bucket = TokenBucket(Clock())
    bucket.add(10)
    assert bucket.seconds_until(1, 10) > 0
    assert bucket.seconds_until(1, 20) == 0
    assert bucket.seconds_until(1, 0) == 60
