"""How much a tenant used in the last minute, against its limit."""

import pytest

from app.tenants.token_bucket import Debt, TokenBucket


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def used(amount: float, per_minute: int | None, clock: Clock | None = None) -> TokenBucket:
    """Make a bucket of which `amount` was used under a limit."""
    bucket = TokenBucket(clock or Clock())
    bucket.add(amount, per_minute)
    return bucket


def test_minute_is_there_at_once_and_comes_back_evenly() -> None:
    clock = Clock()
    bucket = TokenBucket(clock)
    for _ in range(6):
        assert bucket.seconds_until(1, 6) == 0
        bucket.add(1, 6)
    assert bucket.seconds_until(1, 6) == pytest.approx(10)
    clock.now = 10
    assert bucket.seconds_until(1, 6) == 0
    assert bucket.seconds_until(2, 6) == pytest.approx(10)


def test_idleness_earns_no_more_than_a_minute() -> None:
    clock = Clock()
    bucket = TokenBucket(clock)
    clock.now = 1e6
    assert bucket.seconds_until(60, 60) == 0
    bucket.add(60, 60)
    assert bucket.seconds_until(1, 60) == pytest.approx(1)


def test_more_than_a_minute_allows_is_let_in_and_owed() -> None:
    bucket = TokenBucket(Clock())
    assert bucket.seconds_until(500, 100) == 0
    bucket.add(500, 100)
    assert bucket.seconds_until(1, 100) == pytest.approx(240.6)


def test_use_without_a_limit_costs_nothing_later() -> None:
    assert used(130, None).seconds_until(1, 3) == 0


@pytest.mark.parametrize("later", [10, 3, 1])
def test_lower_limit_does_not_make_former_use_dearer(later: int) -> None:
    """Keep 54 of 60 seconds owed, so that the next wait is at most that plus one request's own time."""
    bucket = used(900, 1000)
    assert bucket.seconds_until(1, later) <= 54
    assert bucket.debt.seconds == pytest.approx(54)


def test_higher_limit_pays_a_debt_sooner() -> None:
    bucket = used(500, 100)
    assert bucket.seconds_until(1, 1000) == 0
    assert bucket.debt.seconds == pytest.approx(30)
    assert used(10, 10).seconds_until(1, 20) == 0


def test_limit_of_nothing_lets_nothing_in() -> None:
    bucket = used(5, 0)
    assert bucket.seconds_until(1, 0) == 60
    assert bucket.seconds_until(1, 10) == 0


def test_debt_is_taken_up_by_the_next_bucket() -> None:
    clock = Clock()
    first = used(6, 6, clock)
    clock.now = 20
    second = TokenBucket(Clock(), first.debt)
    assert first.debt == Debt(40, 6)
    assert second.seconds_until(3, 6) == pytest.approx(10)
    assert second.seconds_until(3, 12) == 0
