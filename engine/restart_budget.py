"""The number of restarts within a sliding window, and the pause before each of them."""

from collections import deque
from collections.abc import Sequence


class RestartBudget:
    """One restart for each of `pauses` within any `seconds`."""

    def __init__(self, pauses: Sequence[float], seconds: float) -> None:
        """pauses: seconds before the first restart within the window, the second, and so on."""
        self._pauses = pauses
        self.seconds = seconds
        self._spent: deque[float] = deque()

    @property
    def most(self) -> int:
        """Number of restarts within the window."""
        return len(self._pauses)

    @property
    def num_spent(self) -> int:
        """Number of restarts that counted when the last one was spent."""
        return len(self._spent)

    def spend(self, now: float) -> float | None:
        """Count a restart at `now` and return the seconds to pause before it; None if there were too many."""
        while self._spent and now - self._spent[0] >= self.seconds:
            self._spent.popleft()
        if len(self._spent) == len(self._pauses):
            return None
        self._spent.append(now)
        return self._pauses[len(self._spent) - 1]
