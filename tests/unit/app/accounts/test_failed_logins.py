"""Delays after wrong passwords: of an account at a source, of an account, and of an address."""

from contextlib import suppress
from dataclasses import dataclass

import pytest

from app.accounts.delays import MAX_DELAY_SECONDS, MAX_KEYS, Delays
from app.accounts.failed_logins import (
    FAILURES_PER_MINUTE,
    FREE_FAILURES,
    FREE_FAILURES_IN_ALL,
    FailedLogins,
    Source,
)
from app.accounts.login_turns import LoginLine
from engine.api.errors import OutageError, OverloadedError

PLACE = LoginLine("")
HERE, THERE = (Source(f"address 192.0.2.{host}", PLACE) for host in (1, 2))
KNOWN = Source("browser a", PLACE, is_known=True)


class WrongPasswordError(Exception):
    pass


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def failed(clock: Clock) -> FailedLogins:
    return FailedLogins(clock)


def fail(failed: FailedLogins, account: str, source: Source) -> None:
    with suppress(WrongPasswordError), failed.attempt(account, source) as attempt:
        attempt.is_wrong = True
        raise WrongPasswordError


def wait_of(failed: FailedLogins, account: str, source: Source) -> int:
    """Return the seconds that a login has to wait; 0 if it was admitted, and worked."""
    try:
        with failed.attempt(account, source):
            return 0
    except OverloadedError as error:
        return error.retry_after


def test_delay_doubles_with_failures_and_ends_with_success(clock: Clock, failed: FailedLogins) -> None:
    for _ in range(FREE_FAILURES):
        fail(failed, "ada", KNOWN)
    waits = []
    for _ in range(12):
        waits.append(wait_of(failed, "ada", KNOWN))
        clock.now += waits[-1]
        fail(failed, "ada", KNOWN)
    assert waits[:4] == [3, 5, 9, 17]
    assert waits[-1] == MAX_DELAY_SECONDS + 1
    clock.now += MAX_DELAY_SECONDS
    for _ in range(2):
        assert wait_of(failed, "ada", KNOWN) == 0


def test_guesses_elsewhere_do_not_lock_a_person_out(failed: FailedLogins) -> None:
    for _ in range(FREE_FAILURES):
        fail(failed, "ada", HERE)
    assert wait_of(failed, "ada", HERE) == 3
    assert wait_of(failed, "ada", THERE) == 0
    assert wait_of(failed, "ada", KNOWN) == 0
    assert wait_of(failed, "bob", HERE) == 0
    assert wait_of(failed, "ada", HERE) == 3, "a login elsewhere does not end the delay of the one who guesses"


def test_guesses_from_many_addresses_are_delayed(failed: FailedLogins) -> None:
    for each in range(FREE_FAILURES_IN_ALL):
        fail(failed, "ada", Source(f"address 192.0.2.{each}", PLACE))
    assert wait_of(failed, "ada", Source("address 198.51.100.1", PLACE)) == 3
    assert wait_of(failed, "ada", KNOWN) == 0
    assert wait_of(failed, "bob", HERE) == 0


def test_attempts_at_once_count_like_one_after_the_other(clock: Clock, failed: FailedLogins) -> None:
    for _ in range(FREE_FAILURES):
        fail(failed, "ada", HERE)
    clock.now += 3
    with suppress(WrongPasswordError), failed.attempt("ada", HERE) as first:
        assert all(wait_of(failed, "ada", HERE) > 0 for _ in range(40))
        first.is_wrong = True
        raise WrongPasswordError
    assert wait_of(failed, "ada", HERE) == 5, "those that were refused do not count"


def test_attempt_that_tried_nothing_leaves_no_failure(clock: Clock, failed: FailedLogins) -> None:
    for _ in range(FREE_FAILURES):
        fail(failed, "ada", HERE)
    clock.now += 3
    for _ in range(3):
        with pytest.raises(OutageError), failed.attempt("ada", HERE):
            raise OutageError("the directory is away")
    assert wait_of(failed, "ada", HERE) == 0


def test_one_address_fails_a_few_times_a_minute(clock: Clock, failed: FailedLogins) -> None:
    for each in range(FAILURES_PER_MINUTE):
        fail(failed, f"made up {each}", HERE)
    assert wait_of(failed, "ada", HERE) == 3
    assert wait_of(failed, "ada", THERE) == 0
    assert wait_of(failed, "ada", KNOWN) == 0
    clock.now += 60 / FAILURES_PER_MINUTE
    assert wait_of(failed, "ada", HERE) == 0
    assert wait_of(failed, "bob", HERE) == 0, "logins that work cost nothing"
    fail(failed, "ada", HERE)
    assert wait_of(failed, "ada", HERE) > 0


def test_made_up_names_do_not_lift_a_delay(clock: Clock, failed: FailedLogins) -> None:
    for _ in range(FREE_FAILURES):
        fail(failed, "ada", HERE)
    for each in range(MAX_KEYS + 1):
        fail(failed, f"made up {each}", Source(f"address {each}", PLACE))
    assert wait_of(failed, "ada", HERE) == 3


def test_delays_forget_the_oldest_of_too_many_keys(clock: Clock) -> None:
    delays = Delays(2, clock)
    for each in range(MAX_KEYS + 1):
        delays.add(f"a {each}")
    assert delays.of("a 0") is None
    assert delays.of("a 1") is not None
    for each in range(MAX_KEYS + 1):
        for _ in range(2):
            delays.add(f"b {each}")
    assert delays.of("b 0") is None
    assert delays.wait_of("b 1") == 2
