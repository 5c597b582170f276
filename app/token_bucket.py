"""How much of something was used lately, against what a minute allows."""

from collections.abc import Callable


class TokenBucket:
    """Empties evenly: what a minute allows is gone after a minute. It may hold more than that, which is then owed.

    The limit comes with each call, so it may change at any time.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._used = 0.0
        self._looked = clock()

    def seconds_until(self, amount: float, per_minute: float) -> float:
        """Until there is room for `amount`; 0 if there is now. What is more than a minute allows fits when nothing else
        was used; with a limit of 0 nothing ever does, and a minute is said."""
        if per_minute <= 0:
            return 60.0
        self._drain(per_minute)
        too_much = self._used + min(amount, per_minute) - per_minute
        return max(0.0, too_much * 60.0 / per_minute)

    def add(self, amount: float) -> None:
        """It is being used."""
        self._used += amount

    def _drain(self, per_minute: float) -> None:
        now = self._clock()
        self._used = max(0.0, self._used - (now - self._looked) * per_minute / 60.0)
        self._looked = now
