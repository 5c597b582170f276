"""Limit on the number of restarts within a sliding window, with a pause before each."""

from collections import deque
from collections.abc import Sequence


class RestartBudget:
    """Budget of one restart per entry of `pauses` within any window of `seconds`."""

    def __init__(self, pauses: Sequence[float], seconds: float) -> None:
        """Create a full budget.

        pauses: seconds to pause before the first restart within the window, the second, and so on.
        seconds: length of the window.
        """
        self._pauses = pauses
        self.seconds = seconds
        self._spent: deque[float] = deque()

    @property
    def most(self) -> int:
        """Maximum number of restarts within the window."""
        return len(self._pauses)

    @property
    def num_spent(self) -> int:
        """Number of restarts within the window as of the last call of `spend`."""
        return len(self._spent)

    def spend(self, now: float) -> float | None:
        """Count a restart at `now`, and return the seconds to pause before it; None if the budget is exhausted."""
        while self._spent and now - self._spent[0] >= self.seconds:
            self._spent.popleft()
        if len(self._spent) == len(self._pauses):
            return None
        self._spent.append(now)
        return self._pauses[len(self._spent) - 1]
