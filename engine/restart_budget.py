"""How often something may be started again before there is no use in it."""

import time
from collections import deque
from collections.abc import Callable


class RestartBudget:
    """At most `most` restarts within any `seconds`."""

    def __init__(self, most: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.most = most
        self.seconds = seconds
        self._clock = clock
        self._taken: deque[float] = deque()

    def take(self) -> bool:
        """Count one more restart; False, and nothing is counted, if there have been too many."""
        now = self._clock()
        while self._taken and self._taken[0] <= now - self.seconds:
            self._taken.popleft()
        if len(self._taken) >= self.most:
            return False
        self._taken.append(now)
        return True
