"""A tenant's recent use of something, against what a minute allows."""

from collections.abc import Callable
from dataclasses import dataclass

MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class Debt:
    """Use that is not paid for yet."""

    seconds: float = 0.0
    """Time until the use is paid for."""

    per_minute: int | None = None
    """Limit under which the use occurred; None if there never was one."""

    def after(self, seconds: float) -> "Debt":
        """Compute the debt that is left `seconds` later."""
        return Debt(max(0.0, self.seconds - seconds), self.per_minute)

    def plus(self, more: "Debt") -> "Debt":
        """Add use that occurred under the limit of `more`. A higher limit than before reduces the former cost.

        more: its seconds may be negative, for use that was taken back.
        """
        is_higher = self.per_minute and more.per_minute and more.per_minute > self.per_minute
        former = self.seconds * self.per_minute / more.per_minute if is_higher else self.seconds  # type: ignore[operator]
        return Debt(max(0.0, former + more.seconds), more.per_minute or self.per_minute)


NO_DEBT = Debt()


class TokenBucket:
    """Seconds until all use is paid for, at the limit under which the use occurred.

    A limit of N a minute pays for one in 60/N seconds, so a bucket is full at 60 seconds. More than that is owed. The
    limit comes with each call and may change at any time. Use without a limit costs nothing later. A lower limit does
    not raise the cost of former use, and a higher one reduces it.

    Several servers share a bucket: each one adds its own use to a total from time to time (`take_added`), and continues
    with that total (`settle`).
    """

    def __init__(self, clock: Callable[[], float], former: Debt = NO_DEBT) -> None:
        """Create a bucket that owes the debt of a former one."""
        self._clock = clock
        self._owed = former.seconds
        self._per_minute = former.per_minute
        self._added = 0.0
        self._looked = clock()

    @property
    def debt(self) -> Debt:
        """Use that is not paid for now."""
        self._drain()
        return Debt(self._owed, self._per_minute)

    def take_added(self) -> Debt:
        """Return the use since the last call, which the caller adds to the total."""
        added, self._added = self._added, 0.0
        return Debt(added, self._per_minute)

    def give_back(self, added: Debt) -> None:
        """Take back use that could not be added to the total."""
        self._added += added.seconds
        self._per_minute = self._per_minute or added.per_minute

    def settle(self, total: Debt) -> None:
        """Continue with the total as it is now. Use since the last `take_added` is not in it yet."""
        self._looked = self._clock()
        self._owed = max(0.0, total.seconds + self._added)

    def seconds_until(self, amount: float, per_minute: int) -> float:
        """Compute the seconds until there is room for `amount`; 0 if there is now.

        An amount above a whole minute's fits when nothing else was used. With a limit of 0 nothing ever fits, and the
        answer is a minute.
        """
        self._take_limit(per_minute)
        if per_minute <= 0:
            return MINUTE
        self._drain()
        return max(0.0, self._owed + min(amount * MINUTE / per_minute, MINUTE) - MINUTE)

    def add(self, amount: float, per_minute: int | None) -> None:
        """Count `amount` as used under a limit. Without a limit (None) there is nothing to pay."""
        self._take_limit(per_minute)
        if per_minute:
            self._drain()
            cost = amount * MINUTE / per_minute
            self._owed += cost
            self._added += cost

    def _take_limit(self, per_minute: int | None) -> None:
        if self._per_minute and per_minute and per_minute > self._per_minute:
            self._drain()
            self._owed *= self._per_minute / per_minute
            self._added *= self._per_minute / per_minute
        if per_minute:
            self._per_minute = per_minute

    def _drain(self) -> None:
        now = self._clock()
        self._owed = max(0.0, self._owed - (now - self._looked))
        self._looked = now


@dataclass(frozen=True, slots=True)
class Use:
    """Requests within the limits, and tokens of prompts and answers."""

    requests: int = 0
    tokens: int = 0

    def __add__(self, other: "Use") -> "Use":
        return Use(self.requests + other.requests, self.tokens + other.tokens)

    def __sub__(self, other: "Use") -> "Use":
        return Use(self.requests - other.requests, self.tokens - other.tokens)


@dataclass(frozen=True, slots=True)
class OwedUse:
    """Debts of one tenant, by rate limit."""

    requests: Debt = NO_DEBT
    tokens: Debt = NO_DEBT

    def after(self, seconds: float) -> "OwedUse":
        """Return the debts that remain after `seconds`."""
        return OwedUse(self.requests.after(seconds), self.tokens.after(seconds))

    def plus(self, more: "OwedUse") -> "OwedUse":
        """Add use, as `Debt.plus` does."""
        return OwedUse(self.requests.plus(more.requests), self.tokens.plus(more.tokens))

    def __bool__(self) -> bool:
        return self.requests.seconds != 0 or self.tokens.seconds != 0


NOTHING_OWED = OwedUse()
