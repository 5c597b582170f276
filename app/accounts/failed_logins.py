"""Delays after wrong passwords and codes. They end with the process.

Failures count for the account at one source: an address, a browser that is known, or a login in progress. So guesses
from elsewhere do not lock a person out. Failures from unknown browsers also count for the account at all addresses
together, which slows down guesses from many, and for the address with all accounts.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from app.accounts.delays import Delays, Failures
from app.accounts.login_turns import LoginLine
from app.tenants.token_bucket import TokenBucket
from engine.api.errors import OverloadedError

FREE_FAILURES: Final = 5
"""Failures of an account at one source before its delays begin."""

FREE_FAILURES_IN_ALL: Final = 50
"""Failures of an account at all addresses before its delays begin."""

FAILURES_PER_MINUTE: Final = 30
"""Failures of one address with any accounts."""

MAX_ADDRESSES: Final = 16_384


@dataclass(frozen=True, slots=True)
class Source:
    """Where logins come from.

    place: where they wait for their turn.
    is_known: whether the account was logged in to there before. Failures at addresses then cause no delay.
    """

    name: str
    place: LoginLine
    is_known: bool = False


@dataclass(slots=True)
class Attempt:
    """A login in progress, which counts as a failure until its end.

    is_wrong: whether the password or the code is wrong.
    """

    is_wrong: bool = False
    _counted: list[tuple[Delays, str, Failures | None, Failures]] = field(default_factory=list)

    def add_to(self, delays: Delays, key: str) -> None:
        """Count a failure in `delays`, which `take_back` or `forget` ends."""
        former = delays.of(key)
        self._counted.append((delays, key, former, delays.add(key)))

    def take_back(self) -> None:
        """Uncount the failure: the attempt tried no password, or a right one whose code is missing."""
        for delays, key, former, own in self._counted:
            latest = delays.of(key)
            if latest is own:
                delays.set(key, former)
            elif latest is not None:
                delays.set(key, Failures(latest.count - 1, latest.failed_at))

    def forget(self) -> None:
        """End the counts after a login that worked."""
        for delays, key, _, _ in self._counted:
            delays.set(key, None)


class FailedLogins:
    """Failures of accounts at sources, of accounts, and of addresses."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._at_source = Delays(FREE_FAILURES, clock)
        self._in_all = Delays(FREE_FAILURES_IN_ALL, clock)
        self._addresses: OrderedDict[str, TokenBucket] = OrderedDict()

    @contextmanager
    def attempt(self, account: str, source: Source) -> Iterator[Attempt]:
        """Count a login as a failure while it is in progress, and afterwards if its `is_wrong` was set.

        Attempts at the same time therefore count like attempts one after the other. An attempt that ends without an
        error ends the delays of its account. One that ends with another error never was.

        Raise OverloadedError while the login has to wait.
        """
        self.check_address(source)
        pair = f"{source.name}\n{account}"
        _check(self._at_source.wait_of(pair))
        if not source.is_known:
            _check(self._in_all.wait_of(account))
        attempt = Attempt()
        attempt.add_to(self._at_source, pair)
        if not source.is_known:
            attempt.add_to(self._in_all, account)
            self._bucket(source).add(1, FAILURES_PER_MINUTE)
        try:
            yield attempt
        except Exception:
            if not attempt.is_wrong:
                attempt.take_back()
                self._refund(source)
            raise
        attempt.forget()
        self._refund(source)

    def check_address(self, source: Source) -> None:
        """Raise OverloadedError while all logins from an address have to wait."""
        if not source.is_known:
            _check(self._bucket(source).seconds_until(1, FAILURES_PER_MINUTE))

    def _refund(self, source: Source) -> None:
        if not source.is_known:
            self._bucket(source).add(-1, FAILURES_PER_MINUTE)

    def _bucket(self, source: Source) -> TokenBucket:
        bucket = self._addresses.get(source.name)
        if bucket is None:
            bucket = self._addresses[source.name] = TokenBucket(self._clock)
            if len(self._addresses) > MAX_ADDRESSES:
                self._addresses.popitem(last=False)
        self._addresses.move_to_end(source.name)
        return bucket


def _check(wait: float) -> None:
    if wait > 0:
        seconds = int(wait) + 1
        raise OverloadedError(
            f"Too many wrong passwords or codes. Try again in {seconds} s",
            retry_after=seconds,
            code="too_many_failed_logins",
        )
